"""KL752 to KL764: autotuned kernels that are not idempotent, memory that programs share."""

from __future__ import annotations

import pytest

from tests.support.values import findings, severities

TUNED = """
@triton.autotune(configs=[{configs}], key=["n"]{extra})
@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load({source} + i, mask=m, other=0.0)
    tl.store({target} + i, {value}, mask=m)

def run(x: torch.Tensor, y: torch.Tensor):
    k[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)]({args}, x.numel())
"""
TWO = "triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})"
ONE = "triton.Config({'BLOCK': 64})"


HOOK = "def prepare(args, **options):\n    pass\n"


def tuned(configs=TWO, extra="", source="x", target="x", value="v * 0.5", args="x, y"):
    return TUNED.format(configs=configs, extra=extra, source=source, target=target, value=value, args=args)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(tuned(), id="same-parameter"),
        pytest.param(tuned(target="y", args="x, x"), id="same-tensor-twice"),
        pytest.param(tuned(extra=", restore_value=['y']"), id="another-is-restored"),
        pytest.param(tuned(value="tl.where(v < 9, 0.0, v)"), id="replaced-by-what-it-is"),
        pytest.param(tuned(value="tl.where(i < 9, v * 2.0, v)"), id="one-arm-changes-it"),
        pytest.param(tuned(configs="*[triton.Config({'BLOCK': b}) for b in (64, 128)]"), id="computed-configurations"),
    ],
)
def test_tuning_repeats_updates(source):
    assert severities("KL752", source) == ["error"]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(tuned(configs=ONE), id="one-configuration"),
        pytest.param(tuned(extra=", restore_value=['x']"), id="restored"),
        pytest.param(tuned(extra=", restore_value=('x', 'y')"), id="tuple"),
        pytest.param(tuned(extra=", reset_to_zero=['x']"), id="zeroed"),
        pytest.param(HOOK + tuned(extra=", pre_hook=prepare"), id="hook"),
        pytest.param(tuned(target="y"), id="another-buffer"),
        pytest.param(tuned(value="1.0"), id="store-of-a-constant"),
        pytest.param(tuned(source="y"), id="overwritten"),
        pytest.param(tuned(source="(x + n)"), id="other-elements"),
        pytest.param(tuned(value="tl.where(i < 9, 0.0, v)"), id="kept-or-replaced"),
        pytest.param(tuned(value="tl.where(i < 9, 0.0, tl.where(i > 90, v, 1.0))"), id="kept-or-replaced-twice"),
    ],
)  # fmt: skip
def test_tuning_repeats_nothing(source):
    assert findings("KL752", source) == []


OPEN_WIDTH = """
@triton.autotune(configs=[triton.Config({{'B': 32}}), triton.Config({{'B': 64}})], key=["n"])
@triton.jit
def accumulate(x, n, K: tl.constexpr, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for row in range(n):
        total += tl.load(x + row * K + c, mask=c < K, other=0.0)
        if {condition}:
            tl.store(x + row * K + c, total, mask=c < K)

def run(x, flag):
    accumulate[lambda meta: (triton.cdiv(x.shape[1], meta["B"]),)](x, x.shape[0], K={width})
"""


@pytest.mark.parametrize(
    ("condition", "width", "expected"),
    [
        pytest.param("row > 0", "x.shape[1]", "error", id="a size keeps no store out"),
        pytest.param("K < 128", "x.shape[1]", "info", id="a size may keep it out"),
        pytest.param("K", "flag", "info", id="a flag may keep it out"),
        pytest.param("row > 0", "flag", "info", id="what is no extent may be a flag"),
    ],
)
def test_what_is_updated_whatever_an_open_size_is(condition, width, expected):
    assert severities("KL752", OPEN_WIDTH.format(condition=condition, width=width)) == [expected]


FOR_A_DEVICE = """
import {package}

@triton.autotune(configs=[triton.Config({{'B': 64}}), triton.Config({{'B': 128}})], key=["n"])
@triton.jit
def halve(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 0.5, mask=i < n)

def _taken(x):
    if x.device.type != "npu" or not x.is_contiguous():
        return False
    return True

def _launch(x, y):
    halve[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
    return y

def halved(x: torch.Tensor):
    return _launch(x, torch.empty_like(x)) if _taken(x) else x * 0.5

def halve_(x: torch.Tensor):
    return _launch(x, x) if _taken(x) else x.mul_(0.5)
"""


@pytest.mark.parametrize(("package", "expected"), [("torch_npu", ["error"]), ("math", [])])
def test_tensors_are_on_the_device_that_a_module_is_for(package, expected):
    assert severities("KL752", FOR_A_DEVICE.format(package=package)) == expected


def test_what_a_program_stores_first_is_no_state():
    source = tuned().replace("    v = tl.load(", "    tl.store(x + i, 1.0, mask=m)\n    v = tl.load(")
    assert findings("KL752", source) == []


ATOMIC = """
@triton.jit
def total(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))

def run(x: torch.Tensor):
    y = {make}
    {then}
    total[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""


@pytest.mark.parametrize("make", ["torch.empty(1)", "torch.empty_like(x)", "x.new_empty(1)", "torch.empty(1)[:1]"])
def test_atomics_into_what_nobody_filled(make):
    assert severities("KL761", ATOMIC.format(make=make, then="pass")) == ["error"]


@pytest.mark.parametrize(
    ("make", "then"),
    [
        ("torch.zeros(1)", "pass"),
        ("torch.zeros_like(x)", "pass"),
        ("x.clone()", "pass"),
        ("torch.empty(1)", "y.zero_()"),
        ("torch.empty(1)", "y.fill_(0)"),
        ("torch.empty(1)", "y.copy_(x[:1])"),
        ("torch.empty(1)", "if x.shape[0] != 1: y.zero_()"),
        ("torch.full((1,), 0.0)", "pass"),
    ],
)
def test_atomics_into_what_is_filled(make, then):
    assert findings("KL761", ATOMIC.format(make=make, then=then)) == []


BARRIER = """
@triton.jit
def turn(x, tmp, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(tmp + i, tl.load(x + i) + 1.0)
    {between}
    tl.store(y + i, tl.load(tmp + {index}))
"""


def test_reading_back():
    assert severities("KL759", BARRIER.format(between="pass", index="(N - 1 - i)")) == ["warning"]
    assert findings("KL759", BARRIER.format(between="tl.debug_barrier()", index="(N - 1 - i)")) == []
    assert findings("KL759", BARRIER.format(between="pass", index="i")) == []
    assert findings("KL759", BARRIER.format(between="pass", index="(N + i)")) == []
    one_warp = BARRIER + "\ndef run(x, tmp, y):\n    turn[(1,)](x, tmp, y, N=64, num_warps=1)\n"
    assert findings("KL759", one_warp.format(between="pass", index="(N - 1 - i)")) == []


STARTS = """
@triton.jit
def starts(counts, begin, out, E: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    n = tl.load(counts + i, mask=i < E, other=0)
    tl.store(begin + i, tl.cumsum(n) - n, mask=i < E)
    {between}
    tl.store(out + tl.program_id(0), tl.load(begin + {place}))

def run(counts: torch.Tensor, begin: torch.Tensor, out: torch.Tensor):
    E = counts.shape[0]
    starts[(E,)](counts, begin, out, E=E, B=triton.next_power_of_2(E), num_warps={warps})
"""


@pytest.mark.parametrize(
    ("between", "place", "warps", "expected"),
    [
        pytest.param("pass", "tl.program_id(0)", 8, ["warning"], id="one of a tile of open extent"),
        pytest.param("tl.debug_barrier()", "tl.program_id(0)", 8, [], id="barrier"),
        pytest.param("pass", "tl.program_id(0)", 1, [], id="one warp"),
        pytest.param("pass", "E + tl.program_id(0)", 8, [], id="behind it"),
        pytest.param("pass", "100", 8, [], id="only where there are that many"),
    ],
)
def test_reading_one_back_of_a_tile_of_open_extent(between, place, warps, expected):
    assert severities("KL759", STARTS.format(between=between, place=place, warps=warps)) == expected


DIAGONAL = """
@triton.jit
def blocks(a, y, H, B: tl.constexpr):
    i = tl.arange(0, B)
    for j in tl.static_range(4):
        tl.store(a + (j * B + i[:, None]) * H + j * B + i[None, :], tl.load(y + i[:, None] * B + i[None, :]))
    tl.store(y + i[:, None] * B + i[None, :], tl.load(a + i[:, None] * H + {column} + i[None, :]))

def run(a, y):
    blocks[(1,)](a, y, 64, B=16)
"""


def test_tiles_that_do_not_meet():
    assert findings("KL759", DIAGONAL.format(column="B")) == []
    assert findings("KL759", DIAGONAL.format(column="3 * B")) == []
    assert severities("KL759", DIAGONAL.format(column="1")) == ["warning"]


BEHIND = """
@triton.jit
def behind(x, tmp, y, N: tl.constexpr, STEPS: tl.constexpr):
    i = tl.arange(0, N)
    for step in range(STEPS):
        tl.store(tmp + (step + {ahead}) * N + i, tl.load(x + step * N + i))
        tl.store(y + step * N + i, tl.load(tmp + step * N + (N - 1 - i)))

def run(x, tmp, y):
    behind[(1,)](x, tmp, y, N=64, STEPS=16)
"""


def test_iterations_far_apart_meet():
    assert severities("KL759", BEHIND.format(ahead=8)) == ["warning"]
    assert findings("KL759", BEHIND.format(ahead=16)) == []


def test_lanes_that_the_mask_leaves_out_are_not_stored():
    halves = """
    @triton.jit
    def halves(q, N: tl.constexpr):
        i, j = tl.arange(0, N), tl.arange(0, N // 4)
        v = tl.load(q + i)
        tl.store(q + i, v * 2.0, mask=i < {end})
        tl.store(q + N // 2 + 2 * j, tl.load(q + N // 2 + 2 * j) + 1.0)

    def run(q):
        halves[(1,)](q, N=64)
    """
    assert findings("KL759", halves.format(end="N // 2")) == []
    assert severities("KL759", halves.format(end="N // 2 + 4")) == ["warning"]


def test_barriers_of_other_devices_are_not_known():
    assert severities("KL759", "import torch_npu\n" + DIAGONAL.format(column="1")) == ["info"]


NEIGHBOUR = """
@triton.jit
def shift(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    left = tl.load(x + i - {step}, mask=(i >= {step}) & (i < n), other=0.0)
    tl.store({target} + i, left, mask=i < n)

def run(x: torch.Tensor, y: torch.Tensor):
    shift[{grid}](x, {second}, x.numel(), B=64)
"""


def test_neighbours_in_place():
    grid = "(triton.cdiv(x.numel(), 64),)"
    assert severities("KL760", NEIGHBOUR.format(step=1, target="x", grid=grid, second="y")) == ["error"]
    assert severities("KL760", NEIGHBOUR.format(step=1, target="y", grid=grid, second="x")) == ["error"]
    assert findings("KL760", NEIGHBOUR.format(step=1, target="y", grid=grid, second="y")) == []
    assert findings("KL760", NEIGHBOUR.format(step=0, target="x", grid=grid, second="y")) == []
    assert findings("KL760", NEIGHBOUR.format(step=1, target="x", grid="(1,)", second="y")) == []


def test_lost_updates():
    source = """
    @triton.jit
    def add(x, y, BLOCK: tl.constexpr):
        c = tl.arange(0, BLOCK)
        r = tl.program_id(0)
        {guard}
        tl.store(y + {place}, tl.load(y + {place}) + tl.load(x + r * BLOCK + c))
    """
    assert severities("KL758", source.format(guard="pass", place="c")) == ["warning"]
    assert findings("KL758", source.format(guard="pass", place="r * BLOCK + c")) == []
    guarded = source.format(guard="if r == 0:", place="c").replace("        tl.store", "            tl.store")
    assert findings("KL758", guarded) == []


@pytest.mark.parametrize(
    ("op", "dtype", "refused"),
    [
        ("max", "bfloat16", True),
        ("min", "float16", True),
        ("add", "int8", True),
        ("add", "int16", True),
        ("add", "float16", False),
        ("add", "bfloat16", False),
        ("max", "float32", False),
        ("max", "int32", False),
        ("or", "int32", False),
    ],
)
def test_types_of_atomics(op, dtype, refused):
    source = f"""
    @triton.jit
    def k(x, y, BLOCK: tl.constexpr):
        c = tl.arange(0, BLOCK)
        tl.atomic_{op}(y + c, tl.load(x + c))

    def run(x: torch.Tensor):
        y = torch.zeros(64, dtype=torch.{dtype})
        k[(1,)](x, y, BLOCK=64)
    """
    assert bool(findings("KL764", source)) == refused


LANES = """
    @triton.jit
    def pack(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + {read})
        {guard}
            tl.store(y + {written}, {value}, mask={mask})

    def run():
        x = torch.randn(8192, device="cuda")
        y = torch.empty_like(x)
        pack[(8,)](x, y, 8192, BLOCK=1024)
        return y
"""
AS_IT_IS = {"read": "i, mask=i < n, other=0.0", "written": "i", "value": "v", "mask": "i < n", "guard": "if True:"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"written": "i // 2"}, ["error"]),
        ({"written": "i // 2", "read": "i // 2, mask=i < n, other=0.0"}, []),  # the same value twice
        ({"written": "i // 2", "mask": "(i < n) & (i % 2 == 0)"}, []),
        ({"written": "i // 2", "value": "tl.sum(v)"}, []),
        ({"written": "i % 512"}, ["error"]),
        ({"written": "i ^ 1"}, []),
        ({"written": "0 * i"}, ["error"]),
        ({"written": "0 * i", "mask": "i < 1"}, []),
        ({"written": "i // 2", "read": "i, mask=i < 0, other=0.0"}, []),  # every lane holds 0
        ({"written": "i // 2", "read": "i, mask=i < 99, other=0.0"}, ["error"]),
        ({"written": "i // 2", "read": "i, mask=tl.load(x + i) > 9, other=0.0"}, []),  # who knows which
        ({"written": "0", "read": "i, mask=tl.load(x + i) > 9, other=0.0", "value": "tl.sum(v)"}, []),
        ({"written": "0", "read": "i", "value": "tl.sum(v)"}, ["error"]),
        ({"written": "0", "read": "i, mask=i < 0, other=0.0", "value": "tl.sum(v)"}, []),  # so does every program
        ({"written": "tl.program_id(0) * (4096 + i)"}, ["error"]),  # program 0 writes 0 from everywhere
        ({"guard": "if tl.program_id(0) > 0:", "written": "tl.program_id(0) * (4096 + i)"}, []),  # ... but for this
        ({"guard": "if tl.program_id(0) > 0:", "written": "i // 2"}, ["error"]),
        ({}, []),
    ],
)
def test_lanes_that_write_one_element(changes: dict[str, str], expected: list[str]) -> None:
    source = LANES.format(**AS_IT_IS | changes)
    assert [finding.severity for finding in findings("KL798", source)] == expected
