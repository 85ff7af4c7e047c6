"""A launch with dots becomes the loop the dot model was fitted on, and is priced by the right model."""

import dataclasses
from dataclasses import replace

import pytest
from gemm_launches import gemm
from micro_launches import HERE, copy_block
from support.findings import run_rule

from kernlint.cost.device import devices, find_device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dot_loop import DotLoop
from kernlint.cost.dot_lowering import shuffle_key
from kernlint.cost.dot_occupancy import registers_per_thread, shared_bytes
from kernlint.cost.dots import dot_time
from kernlint.cost.programs.price import program_time
from kernlint.cost.traffic.accesses import traffic
from kernlint.workload import Branch, Dot, Expr, Load, Loop, Opaque
from kernlint.workload import dtype as dtypes

H100 = find_device("h100")


def test_the_loop_is_the_one_the_fit_uses() -> None:
    import fit_dots

    fitted = replace(fit_dots.gemm("fp16", (2048, 4096, 1024), (128, 128, 64), 8, 3, True), masked=False)
    made = dot_loop(gemm(2048, 4096, 1024, flat=True))
    assert made is not None
    assert made.programs == fitted.programs == 16 * 32
    assert made.iterations == fitted.iterations == 16
    assert made.unique_bytes == fitted.unique_bytes
    assert made.loaded_bytes == fitted.loaded_bytes
    assert made.epilogue_bytes == fitted.epilogue_bytes
    assert (made.grid_m, made.grid_n) == (fitted.grid_m, fitted.grid_n)
    assert made.steps[0].a == fitted.steps[0].a
    assert made.steps[0].b == fitted.steps[0].b
    assert dot_time(made, H100).us == pytest.approx(dot_time(fitted, H100).us, rel=1e-6)


def test_layout_and_casts_reach_the_operand() -> None:
    made = dot_loop(gemm(1024, 1024, 1024, memory=dtypes.INT8, fed=dtypes.FLOAT32, k_major=False))
    assert made is not None
    b = made.steps[0].b
    assert (b.memory_dtype, b.dtype, b.k_major, b.reload) == (dtypes.INT8, dtypes.FLOAT32, False, True)


@pytest.mark.parametrize(
    ("options", "grouped"),
    [
        pytest.param({"grouped": 8}, True, id="grouped-order"),
        pytest.param({"flat": True}, False, id="row-major-order"),
        pytest.param({}, False, id="two-dimensional-grid"),
    ],
)
def test_program_order_is_told_from_the_offsets(options: dict, grouped: bool) -> None:
    made = dot_loop(gemm(8192, 8192, 256, **options))
    assert made is not None
    assert made.grouped is grouped
    assert (made.grid_m, made.grid_n) == (64, 64)


def test_a_dot_outside_a_loop_is_one_unpipelined_iteration() -> None:
    base = gemm(1024, 1024, 64)
    loop = base.kernel.body[0]
    assert isinstance(loop, Loop)
    flat = dataclasses.replace(base, kernel=dataclasses.replace(base.kernel, body=(*loop.body, base.kernel.body[1])))
    made = dot_loop(flat)
    assert made is not None
    assert (made.iterations, made.pipelined) == (1, False)
    assert made.steps[0].a.reload is False


def test_nested_loops_multiply_and_two_loops_add() -> None:
    base = gemm(1024, 1024, 1024)
    loop, end = base.kernel.body
    assert isinstance(loop, Loop)
    nested = Loop(7, "range", 4, (loop, end), HERE)
    twice = (loop, dataclasses.replace(loop, id=9), end)
    with_body = lambda *body: dataclasses.replace(base, kernel=dataclasses.replace(base.kernel, body=body))  # noqa: E731
    assert dot_loop(with_body(nested)).iterations == 64  # type: ignore[union-attr]
    assert dot_loop(with_body(nested)).entries == 4  # type: ignore[union-attr]
    assert dot_loop(base).entries == 1  # type: ignore[union-attr]
    assert dot_loop(with_body(*twice)).iterations == 32  # type: ignore[union-attr]


def test_kernels_without_dots_go_to_the_program_model() -> None:
    copy = copy_block(1 << 20, dtypes.FLOAT32, 1024, 4)
    assert dot_loop(copy) is None
    assert kernel_time(copy, H100) == program_time(copy, H100)


def test_an_autotuned_launch_takes_its_fastest_configuration() -> None:
    slow, fast = gemm(4096, 4096, 4096, (16, 16, 16), warps=4), gemm(4096, 4096, 4096)
    tuned = dataclasses.replace(slow, alternatives=(fast,), autotuned=True)
    assert kernel_time(tuned, H100) == dataclasses.replace(kernel_time(fast, H100), configuration=fast)
    assert kernel_time(fast, H100).us < kernel_time(slow, H100).us / 3


def test_a_partly_written_output_costs() -> None:
    good = gemm(4096, 4096, 512)
    loop, end = good.kernel.body
    transposed = dataclasses.replace(end, offset=end.offset * 8)  # type: ignore[union-attr, operator, call-arg]
    bad = dataclasses.replace(good, kernel=dataclasses.replace(good.kernel, body=(loop, transposed)))
    assert kernel_time(bad, H100).us > 1.3 * kernel_time(good, H100).us


def test_hostile_dots_never_raise() -> None:
    base = gemm(1024, 1024, 1024)
    loop, end = base.kernel.body
    assert isinstance(loop, Loop)
    dot = next(node for node in loop.body if isinstance(node, Dot))
    unknown = dataclasses.replace(dot.a, loads=frozenset({99}), direct=False, k_stride=None, other_stride=None)
    strange = dataclasses.replace(dot, m=1, n=0, k=3, a=unknown)
    open_trip = dataclasses.replace(loop, trip=Expr.atom(Opaque("load", (), 3)))
    bodies = [
        (strange,), (dataclasses.replace(loop, trip=0), end), (open_trip, end), (Branch(((loop,), (end,)), HERE),),
        (dataclasses.replace(loop, body=(strange,), kind="while", trip=None),),
    ]  # fmt: skip
    for device in devices():
        for body in bodies:
            made = dataclasses.replace(base, kernel=dataclasses.replace(base.kernel, body=body), arguments={})
            for grid in ((0,), (1,), (10**6, 3)):
                time = kernel_time(dataclasses.replace(made, grid=grid), device)
                assert time.us >= 0
                assert time.sigma > 0
    certain, guessed = kernel_time(base, H100), dataclasses.replace(base.kernel, body=(open_trip, end))
    assert kernel_time(dataclasses.replace(base, kernel=guessed), H100).sigma > certain.sigma + 0.3


def _twice(other: bool) -> DotLoop:
    """A loop of two dots with one A, and two matrices B or (``other`` is false) one."""
    base = gemm(1024, 1024, 1024)
    loop, end = base.kernel.body
    assert isinstance(loop, Loop)
    x, b, first = loop.body
    assert isinstance(x, Load) and isinstance(b, Load) and isinstance(first, Dot)
    first = replace(first, a=replace(first.a, load=x.id), b=replace(first.b, load=b.id))
    copy = replace(b, id=99)
    second = replace(first, id=100, b=replace(first.b, load=99, loads=frozenset({99})) if other else first.b)
    body = (x, b, first, copy, second) if other else (x, b, first, second)
    made = dot_loop(replace(base, kernel=replace(base.kernel, body=(replace(loop, body=body), end))))
    assert made is not None
    return made


def test_an_operand_of_two_dots_is_loaded_and_kept_once() -> None:
    one, two = dot_loop(gemm(1024, 1024, 1024)), _twice(other=True)
    assert one is not None
    assert [(s.a.again, s.b.again) for s in two.steps] == [(False, False), (True, False)]
    assert [(s.a.again, s.b.again) for s in _twice(other=False).steps] == [(False, False), (True, True)]
    tile = one.steps[0].m * one.steps[0].k * one.steps[0].a.memory_dtype.bytes
    twice = replace(two, steps=tuple(replace(s, a=replace(s.a, again=False)) for s in two.steps))
    assert shared_bytes(twice, H100) - shared_bytes(two, H100) == one.num_stages * tile
    assert registers_per_thread(two, H100) < registers_per_thread(twice, H100)
    assert dot_time(two, H100).us < dot_time(twice, H100).us


SUM = """
@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * BN + n[None, :])
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * BN + n[None, :], acc)

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(4096, 64, device=a.device)
        product[(64,)](a, b, c, 1024, BM=64, BN=64, BK=64)
        return c

def get_inputs():
    return [torch.randn(4096, 1024).half(), torch.randn(1024, 64).half()]
"""


@pytest.mark.parametrize(
    ("update", "adds"),
    [
        pytest.param("acc += tl.dot(x, y)", 0, id="added in place"),
        pytest.param("acc = tl.dot(x, y) + acc", 0, id="the other way round"),
        pytest.param("d = tl.dot(x, y)\n        acc += d", 0, id="with a name"),
        pytest.param("acc = tl.dot(x, y, acc)", 0, id="as the accumulator"),
        pytest.param("acc += tl.dot(x, y) * 2", 2, id="scaled first"),
        pytest.param("acc -= tl.dot(x, y)", 1, id="subtracted"),
        pytest.param("acc = tl.dot(x, y, acc) + acc", 1, id="a dot that has an accumulator"),
        pytest.param("acc += tl.dot(x, y).to(tl.float16)", 1, id="rounded first"),
    ],
)
def test_the_dot_adds_its_product_to_the_accumulator(update: str, adds: int) -> None:
    """Combine.cpp makes ``acc + dot(a, b, 0)`` one dot."""
    (context,) = run_rule("KL104", SUM.replace("acc += tl.dot(x, y)", update)).contexts
    (launch,) = context.workload.launches()
    made = dot_loop(launch)
    assert made is not None
    assert made.extra_alu_elements_per_iteration == adds * 64 * 64


def loop_of(update: str, load: str, deep: int) -> DotLoop:
    """The loop of ``SUM`` with another ``update`` of the accumulator, another ``load`` of the second operand and tiles so ``deep``."""
    source = SUM.replace("acc += tl.dot(x, y)", update).replace("BK=64", f"BK={deep}")
    source = source.replace("tl.load(b + (start + k)[:, None] * BN + n[None, :])", load)
    (context,) = run_rule("KL104", source).contexts
    (launch,) = context.workload.launches()
    made = dot_loop(launch)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("load", "along_k"),
    [
        pytest.param("tl.abs(tl.load(b + (start + k)[:, None] * BN + n[None, :]))", False, id="along n"),
        pytest.param("tl.abs(tl.load(b + n[None, :] * K + (start + k)[:, None]))", True, id="along k"),
        pytest.param("tl.trans(tl.abs(tl.load(b + n[:, None] * K + (start + k)[None, :])))", True, id="turned"),
        pytest.param("tl.zeros((BK, BN), tl.float32) + start", False, id="not loaded"),
    ],
)
def test_a_computed_operand_lies_in_shared_memory_as_what_it_is_made_from(load: str, along_k: bool) -> None:
    """Of dequantised weights, which lie along n, the FMA units read four at a time (SASS of triton 3.6: the layout of the store
    follows that of the load)."""
    update = 'acc = tl.dot(x.to(tl.float32), y.to(tl.float32), acc, input_precision="ieee")'
    made = loop_of(update, load, deep=32)
    (step,) = made.steps
    assert (step.b.k_major, step.b.along_k) == (None, along_k)
    other = replace(made, steps=(replace(step, b=replace(step.b, along_k=not along_k)),))
    slow, fast = (made, other) if along_k else (other, made)
    assert dot_time(slow, H100).us > 1.5 * dot_time(fast, H100).us


def test_a_tile_that_dots_take_along_both_axes_is_turned_for_one_of_them() -> None:
    """Hopper's units read tf32 along k alone: ``q`` of a backward pass is written to shared memory twice."""
    update = "q = y.to(tl.float32)\n        s = tl.dot(x.to(tl.float32), tl.trans(q))\n        acc += tl.dot(s, q)"
    made = loop_of(update, "tl.load(b + (start + tl.arange(0, 64))[:, None] * BN + n[None, :])", deep=64)
    first, second = (step.b for step in made.steps)
    assert (first.again, first.turned, second.again, second.turned) == (False, False, True, True)
    assert (
        shuffle_key(second, "tf32", "wgmma") == "wgmma.float16->tf32"
        and shuffle_key(second, "float16", "wgmma") == "none"
    )
    once = replace(made, steps=(made.steps[0], replace(made.steps[1], b=replace(second, turned=False))))
    assert shared_bytes(made, H100) - shared_bytes(once, H100) == 64 * 64 * 4
    assert dot_time(made, H100).us > dot_time(once, H100).us


def test_what_is_remembered_of_a_kernel_is_of_the_launch_and_the_device_asked_about():
    """In any order, a kernel that was asked about before answers as one that was not."""
    made = gemm(128, 2048, 2048)
    asked = [
        dataclasses.replace(made, **changes)
        for changes in ({}, {"num_warps": 8}, {"num_stages": 4}, {"grid": (1, 1)}, {"grid": (64, 64)}, {})
    ]
    for one in (*asked, *reversed(asked)):
        for device in (H100, find_device("a100-80gb-sxm"), H100):
            fresh = dataclasses.replace(one, kernel=dataclasses.replace(one.kernel))
            assert kernel_time(one, device) == kernel_time(fresh, device)
            assert traffic(one).footprints == traffic(fresh).footprints


NEAREST = """
import torch
import triton
import triton.language as tl

@triton.jit
def nearest(x, codes, out, n, D: tl.constexpr):
    rows = tl.program_id(0) * 32 + tl.arange(0, 32)
    d = tl.arange(0, D)
    a = tl.load(x + rows[:, None] * D + d[None, :])
    best, at = tl.full((32,), float("inf"), tl.float32), tl.zeros((32,), tl.int32)
    for start in range(0, n, 128):
        c = start + tl.arange(0, 128)
        far = -2.0 * tl.dot(a, tl.trans(tl.load(codes + c[:, None] * D + d[None, :])))
        {reduced}
    tl.store(out + rows, {result})

class ModelNew(torch.nn.Module):
    def forward(self, x, codes):
        out = torch.empty(x.shape[0], device=x.device, dtype=torch.int32)
        nearest[(x.shape[0] // 32,)](x, codes, out, codes.shape[0], D=64)
        return out

def get_inputs():
    return [torch.randn(64, 64, dtype=torch.float16), torch.randn(16384, 64, dtype=torch.float16)]
"""


def test_the_place_of_the_best_is_compared_and_selected_too() -> None:
    """`top1` of 16,384 codes, 32 queries a program: 72 us with ``tl.max``, 121 with its places beside it."""

    def us(reduced: str, result: str) -> float:
        (context,) = run_rule("KL104", NEAREST.format(reduced=reduced, result=result)).contexts
        (launch,) = context.workload.launches()
        return kernel_time(launch, H100).us

    alone = us("best = tl.minimum(best, tl.min(far, axis=1))", "best.to(tl.int32)")
    placed = "m, i = tl.min(far, axis=1, return_indices=True); at = tl.where(m < best, start + i, at); best = tl.minimum(best, m)"
    assert 1.2 < us(placed, "at") / alone < 2.5
    assert us("at += tl.argmin(far, axis=1)", "at") == pytest.approx(us(placed, "at"), rel=0.1)
