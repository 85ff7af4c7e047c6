"""What rules said of packages that nobody had looked at, and should not have: each kind of it, and what is like it and is told."""

import textwrap

import pytest

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings
from tests.support.values import HEADER, severities


def told(code: str, source: str) -> list[Finding]:
    """What is told of ``source`` by rule ``code``, as a user has it."""
    text = (HEADER + textwrap.dedent(source)).encode()
    return list(check_file(Job("a.py", text, FileSettings(frozenset({code})))).findings)


BUTTERFLY = """
    @triton.jit
    def stage(x, half, BLOCK: tl.constexpr):
        lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        first = {first}
        a = tl.load(x + first)
        b = tl.load(x + first + 16)
        tl.store(x + first, a + b)
        tl.store(x + first + 16, a - b)

    def run(x: torch.Tensor):
        stage[(8,)](x, 16, BLOCK=64)
"""


def test_halves_that_a_quotient_keeps_apart() -> None:
    apart = BUTTERFLY.format(first="(lane // 16) * 32 + lane % 16")
    assert severities("KL758", apart) == []
    assert severities("KL758", BUTTERFLY.format(first="lane")) == ["error"]


def test_what_a_loop_carries_is_told_by_its_shape_where_its_type_is_not_known() -> None:
    source = """
    @triton.jit
    def k(x, o, n):
        best = n - 1
        for i in range(8):
            best = tl.where(tl.load(x + i * 64 + tl.arange(0, 64)) > 0, best, best - 1)
        tl.store(o + tl.arange(0, 64), best)

    KERNELS = [k]
    """
    (finding,) = told("KL710", source)
    assert "`best` is one value before the loop and a block of shape [64] after" in finding.message


INPUTS_OF_TESTS = """
    def inputs(n):
        @triton.jit
        def fill(x, BLOCK: tl.constexpr):
            tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1.0)

        x = torch.empty(n * 64, device="cuda")
        fill[(n,)](x, BLOCK=64)
        return x

    def {name}():
        x = inputs(16)
        {end}
"""


@pytest.mark.parametrize(
    ("end", "expected"), [("assert torch.allclose(x, torch.ones_like(x))", 0), ("return x", 1), ("print(x)", 1)]
)
def test_what_only_tests_call(end: str, expected: int) -> None:
    """... is called as often as they are: once."""
    for name in ("test", "checked"):
        assert len(told("KL603", INPUTS_OF_TESTS.format(name=name, end=end))) == expected


OUTPUT = """
    @triton.jit
    def copy(x, o, xm, xn, om, on, N, B: tl.constexpr):
        r, c = tl.program_id(0), tl.arange(0, B)
        tl.store(o + r * om + c * on, tl.load(x + r * xm + c * xn, mask=c < N), mask=c < N)

    def run(x):
        rows, columns = x.shape
        o = torch.empty_like(x)
        om, on = {strides}
        copy[(rows,)](x, o, x.stride(0), x.stride(1), om, on, columns, B=1024)
        return o
"""


@pytest.mark.parametrize(("strides", "expected"), [("o.stride()", []), ("columns, 1", ["warning"])])
def test_strides_of_the_output_by_names_of_their_own(strides: str, expected: list[str]) -> None:
    assert severities("KL772", OUTPUT.format(strides=strides)) == expected


BITS = """
    @triton.jit
    def keep(x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        mask = i < n
        v = tl.load(x + i, mask=mask, other=0).to(tl.int32)
        tl.store(y + i, v, mask={mask})
"""


@pytest.mark.parametrize(
    ("mask", "expected"),
    [("mask & v != 0", ["info"]), ("mask & v == 0", ["error"]), ("mask & v < 3", ["error"]), ("mask & (v != 0)", [])],
)
def test_a_mask_and_any_bit(mask: str, expected: list[str]) -> None:
    assert severities("KL744", BITS.format(mask=mask)) == expected


@pytest.mark.parametrize(
    ("rows", "dtype", "expected"),
    [(4, "float16", "info"), (8, "float16", "warning"), (16, "bfloat16", "info"), (32, "bfloat16", "warning")],
)
def test_a_sum_of_few_values(rows: int, dtype: str, expected: str) -> None:
    source = f"""
    @triton.jit
    def total(x, o, N: tl.constexpr):
        i = tl.arange(0, {rows})[:, None] * N + tl.arange(0, N)[None, :]
        tl.store(o + tl.arange(0, N), tl.sum(tl.load(x + i), axis=0))

    def run():
        x = torch.randn({rows}, 64, device="cuda", dtype=torch.{dtype})
        o = torch.empty(64, device="cuda")
        total[(1,)](x, o, N=64)
        return o
    """
    assert severities("KL778", source) == [expected]


@pytest.mark.parametrize(
    ("made", "shape", "expected"),
    [("torch.empty(elements(), device='cuda')", "1", []), ("torch.empty(4, 8, device='cuda').t()", "32", ["error"])],
)
def test_a_view_of_what_has_an_unknown_shape(made: str, shape: str, expected: list[str]) -> None:
    source = f"""
    from elsewhere import elements

    @triton.jit
    def fill(x):
        tl.store(x, 1.0)

    def run():
        out = {made}
        fill[(1,)](out)
        return out.view({shape})
    """
    assert severities("KL795", source) == expected


@pytest.mark.parametrize(("launched", "expected"), [("scale.fn", []), ("scale", ["error"])])
def test_a_launch_without_the_tuner(launched: str, expected: list[str]) -> None:
    """``.fn`` of a tuned kernel is the kernel itself, which takes what the tuner would set."""
    source = f"""
    @triton.autotune(configs=[triton.Config({{"BLOCK": 64}}), triton.Config({{"BLOCK": 128}})], key=["n"])
    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    def run(x):
        y = torch.empty_like(x)
        {launched}[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y
    """
    assert [finding.severity for finding in told("KL703", source)] == expected


ROWS = """
    @triton.jit
    def twice(x, y, n, columns, BLOCK: tl.constexpr):
        lane = tl.arange(0, BLOCK)
        first = tl.program_id(0) * {step}
        tl.store(y + first + lane, tl.load(x + first + lane, mask={mask} < n) * 2.0, mask={mask} < n)

    def run(x):
        y = torch.empty_like(x)
        twice[({grid},)](x, y, {n}, x.shape[-1], BLOCK=64)
        return y
"""


def test_a_mask_that_stays_while_programs_move_on() -> None:
    """Nothing is left out where the grid covers the length; that the mask tests the first tile is another fault."""
    source = ROWS.format(step="BLOCK", mask="lane", n="x.shape[0]", grid="triton.cdiv(x.shape[0], 64)")
    assert (severities("KL751", source), severities("KL796", source)) == ([], ["warning", "warning"])
    source = ROWS.format(step="columns", mask="lane", n="x.shape[1]", grid="x.shape[0]")
    assert (severities("KL751", source), severities("KL796", source)) == (["warning"], [])


MEASURED = """
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.empty_like(x)
            twice[(16,)](x, y, x.numel(), BLOCK=64)
            ctx.save_for_backward(x, y)
            return y

    def measured(x):
        y = Twice.apply(x)
        ms = triton.testing.do_bench(lambda: Twice.apply(x))
        return {result}
"""


@pytest.mark.parametrize(("result", "expected"), [("ms", []), ("y", ["error"])])
def test_what_a_benchmark_saves_for_a_backward_pass(result: str, expected: list[str]) -> None:
    assert severities("KL604", MEASURED.format(result=result)) == expected


@pytest.mark.parametrize(("made", "expected"), [("y", ["info"]), ("torch.empty_like(x)", ["error"]), ("y.zero_()", [])])
def test_a_buffer_that_callers_may_zero(made: str, expected: list[str]) -> None:
    source = f"""
    @triton.autotune(configs=[triton.Config({{"B": 16}}), triton.Config({{"B": 32}})], key=["n"], reset_to_zero=["o"])
    @triton.jit
    def add(x, o, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_add(o, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))

    def run(x, y):
        o = {made}
        add[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, o, x.numel())
        return o
    """
    assert severities("KL753", source) == expected


FLAG = """
    @triton.jit
    def k(x, g, o, K, EVEN: tl.constexpr, B: tl.constexpr):
        c = tl.arange(0, B)
        acc = tl.zeros((B,), tl.float32)
        scale = tl.load(g)
        for s in range(0, K, B):
            if not EVEN:
                {other}
            acc += {load} * scale
        tl.store(o, tl.sum(acc, axis=0))

    def run(x, g, o, K):
        k[(1,)](x, g, o, K, EVEN=(K % 2 == 0), B=16)
"""


def test_a_flag_about_something_else_switches_no_mask_off() -> None:
    plain = FLAG.format(load="tl.load(x + s + c)", other="scale = tl.load(g + s)")
    masked = FLAG.format(
        load="(tl.load(x + s + c) if EVEN else tl.load(x + s + c, mask=s + c < K, other=0.0))", other="pass"
    )
    assert severities("KL739", plain) == []
    assert severities("KL739", masked) == ["error"]
