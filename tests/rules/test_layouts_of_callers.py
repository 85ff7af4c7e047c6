"""KL770 to KL773 and KL779, KL785: what launchers take for granted, and how they are timed."""

import pytest
from support.findings import run_rule

KERNEL = """
import time

@triton.jit
def add(a, b, o, sam, san, sbm, sbn, som, N, B: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, B)
    x = tl.load(a + r * sam + c * san, mask=c < N)
    y = tl.load(b + r * sbm + c * sbn, mask=c < N)
    tl.store(o + r * som + c, x + y, mask=c < N)
"""


def launcher(body):
    return KERNEL + "\ndef run(a, b):\n" + "\n".join("    " + line for line in body.split("\n"))


SHAPES = "M, N = a.shape\nK, L = b.shape\n"
OWN = "o = torch.empty(M, N, device=a.device)\nadd[(M,)](a, b, o, a.stride(0), a.stride(1), {}, N, N, B=1024)\nreturn o"


@pytest.mark.parametrize(
    "strides",
    [
        pytest.param("a.stride(0), a.stride(1)", id="both"),
        pytest.param("sbn=a.stride(1), sbm=a.stride(0), som=N, N=N, B=1024) #", id="keywords"),
        pytest.param("*a.stride()", id="unpacked"),
    ],
)
def test_stride_of_another_tensor(strides):
    finding = run_rule("KL770", launcher(SHAPES + OWN.format(strides))).only()
    assert "`b`" in finding.message
    assert "`a`" in finding.message


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(SHAPES + OWN.format("b.stride(0), b.stride(1)"), id="its own"),
        pytest.param("a, b = a.contiguous(), b.contiguous()\n" + SHAPES + OWN.format("a.stride(0), 1"), id="contiguous"),
        pytest.param("assert a.is_contiguous() and b.is_contiguous()\n" + SHAPES + OWN.format("a.stride(0), 1"), id="assert"),
        pytest.param("b = torch.empty_like(a)\nM, N = a.shape\n" + OWN.format("a.stride(0), a.stride(1)"), id="made alike"),
        pytest.param("b = a\nM, N = a.shape\n" + OWN.format("a.stride(0), a.stride(1)"), id="the same tensor"),
    ],
)  # fmt: skip
def test_stride_of_the_tensor_itself(body):
    assert not run_rule("KL770", launcher(body))


def test_assumes_contiguous():
    body = "M, N = a.shape\nK, L = b.shape\n" + OWN.format("L, 1")
    assert "`b`" in run_rule("KL771", launcher(body)).only().message
    assert not run_rule("KL771", launcher("b = b.contiguous()\n" + body))
    assert not run_rule("KL771", launcher("assert b.is_contiguous()\n" + body))


LIKE = "M, N = a.shape\nK, L = b.shape\no = {}\nadd[(M,)](a, b, o, a.stride(0), {}, b.stride(0), b.stride(1), {}, N, B=1024)"


@pytest.mark.parametrize(
    "made", ["torch.empty_like(a)", "torch.zeros_like(a)", "torch.empty_like(a, dtype=torch.float32)"]
)
def test_output_layout_follows_input(made):
    finding = run_rule("KL772", launcher(LIKE.format(made, "a.stride(1)", "N"))).only()
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("made", "last", "pitch"),
    [
        pytest.param("torch.empty_like(a, memory_format=torch.contiguous_format)", "a.stride(1)", "N", id="format"),
        pytest.param("torch.empty(a.shape, device=a.device)", "a.stride(1)", "N", id="empty"),
        pytest.param("torch.empty_like(a)", "1", "N", id="unit stride is assumed anyway"),
        pytest.param("torch.empty_like(a)", "a.stride(1)", "o.stride(0)", id="its stride is passed"),
    ],
)
def test_output_layout_that_fits(made, last, pitch):
    assert not run_rule("KL772", launcher(LIKE.format(made, last, pitch)))


def test_device_guard():
    launch = SHAPES + OWN.format("b.stride(0), b.stride(1)")
    assert run_rule("KL773", launcher(launch)).only().severity == "info"
    guarded = launch.replace("add[", "with torch.cuda.device(a.device):\n    add[")
    assert not run_rule("KL773", launcher(guarded))
    assert not run_rule("KL773", launcher(launch).replace("def run", "@guard\ndef run"))
    assert not run_rule("KL773", launcher(launch.replace("a, b,", "torch.ones(4), torch.ones(4),")))


def test_implicit_tf32():
    text = """
    @triton.jit
    def product(x, y, o, D: tl.constexpr):
        i = tl.arange(0, D)
        t = i[:, None] * D + i[None, :]
        tl.store(o + t, tl.dot(tl.load(x + t), tl.load(y + t){}))

    def run(x, y):
        assert x.dtype == torch.{} and y.dtype == torch.{}
        o = torch.empty(64, 64, device=x.device)
        product[(1,)](x, y, o, D=64)
        return o
    """
    assert run_rule("KL779", text.format("", "float32", "float32")).only()
    for said in (', input_precision="ieee"', ', input_precision="tf32"', ", allow_tf32=True"):
        assert not run_rule("KL779", text.format(said, "float32", "float32"))
    assert not run_rule("KL779", text.format("", "float16", "float16"))


TIMED = """
import time
from time import perf_counter as clock

@triton.jit
def fill(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

def call(x):
    fill[(1,)](x, B=1024)

def wait():
    torch.cuda.synchronize()

def bench(x):
{}
"""


def timed(body):
    return run_rule("KL785", TIMED.format("\n".join("    " + line for line in body.split("\n"))))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("t = time.time()\nfill[(1,)](x, B=1024)\nreturn time.time() - t", id="direct"),
        pytest.param("t = clock()\nfor _ in range(9):\n    call(x)\nreturn clock() - t", id="alias, function, loop"),
        pytest.param("torch.cuda.synchronize()\nt = clock()\ncall(x)\nreturn clock() - t", id="waits before only"),
        pytest.param("t = time.perf_counter_ns()\ncall(x)\nreturn time.perf_counter_ns() - t", id="nanoseconds"),
    ],
)
def test_unsynchronised_timing(body):
    assert {(finding.span.line > 10, finding.severity) for finding in timed(body).findings} == {(True, "warning")}


def test_methods_called_run_launch_where_they_are_given_a_grid():
    helper = "\n\ndef work(x):\n    {}\n"
    body = "t = clock()\nwork(x)\nreturn clock() - t"
    for call, expected in (
        ("subprocess.run(['ls', x], check=True)", False),
        ("x.run(1)", False),
        ("fill.run(x, B=1024, grid=(1,), warmup=False)", True),
        ("fill.run(x, **options)", True),
    ):
        source = TIMED.format("\n".join("    " + line for line in body.split("\n"))) + helper.format(call)
        assert bool(run_rule("KL785", source)) is expected


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("t = clock()\ncall(x)\ntorch.cuda.synchronize()\nreturn clock() - t", id="synchronize"),
        pytest.param("t = clock()\ncall(x)\ns = x.sum().item()\nreturn clock() - t", id="item"),
        pytest.param("t = clock()\ncall(x)\nwait()\nreturn clock() - t", id="a function that waits"),
        pytest.param("return triton.testing.do_bench(lambda: call(x))", id="do_bench"),
        pytest.param("t = clock()\ny = x + 1\nreturn clock() - t", id="no launch"),
        pytest.param("call(x)\nt = clock()\nreturn t", id="one reading"),
        pytest.param("t = clock()\ndef later():\n    call(x)\nreturn clock() - t", id="not called"),
    ],
)
def test_synchronised_timing(body):
    assert not timed(body)


STARTED = """
def _start(a, b, o):
    add[(64,)](a, b, o, 64, 1, 64, 1, 64, 64, B=64)

def run(a, b):
    o = torch.empty(64, 64, device=a.device)
    with torch.cuda.device(a.device):
        _start(a, b, o)
    return o
"""


def test_a_helper_that_is_called_on_the_device_of_its_tensors() -> None:
    assert not run_rule("KL773", KERNEL + STARTED)
    assert run_rule("KL773", KERNEL + STARTED.replace("    return o", "    _start(a, b, o)\n    return o"))
    assert run_rule("KL773", KERNEL + STARTED + "\nSTARTERS = [_start]\n")
