"""A launch with dots becomes the loop the dot model was fitted on, and is priced by the right model."""

import dataclasses
from dataclasses import replace

import pytest
from gemm_launches import gemm
from micro_launches import HERE, copy_block

from kernlint.cost.device import devices, find_device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dots import dot_time
from kernlint.cost.programs import program_time
from kernlint.workload import Branch, Dot, Expr, Loop, Opaque
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
