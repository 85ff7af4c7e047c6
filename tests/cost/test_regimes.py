"""Regimes between the classes: sorts of tiles, operands that ptxas keeps in memory, functions of many elements, grids with uneven work."""

from __future__ import annotations

import pytest

from kernlint.cost.device import find_device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dot_occupancy import spilled_bytes
from kernlint.cost.dots import is_chained
from kernlint.cost.traffic.accesses import traffic
from kernlint.interpret.assume import parse_fact
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.records import replace
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Scan

H200 = find_device("h200")
SOURCE = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, w, y, n, R: tl.constexpr, C: tl.constexpr):
    p = tl.program_id(0)
    r, c = tl.arange(0, R), tl.arange(0, C)
    at = (p * R + r)[:, None] * C + c[None, :]
    {body}

def f(x, w):
    y = torch.empty({grid} * {r} * {c} * 16, device=x.device, dtype=x.dtype)
    k[({grid},)](x, w, y, {n}, R={r}, C={c}, num_warps={warps})
    return y
"""


def launch(
    *body: str, dtype: str = "float32", grid: int = 132, n: int = 16, r: int = 16, c: int = 128, warps: int = 4
) -> Launch:
    source = SOURCE.format(body="\n    ".join(body), grid=grid, n=n, r=r, c=c, warps=warps)
    facts = tuple(parse_fact(fact) for fact in (f"f.x:{dtype}[{1 << 24}]", f"f.w:{dtype}[{1 << 24}]"))
    (workload,) = Program(parse_module(source, "f.py"), None, Question("f", {}, facts)).workloads()
    (found,) = workload.launches()
    return found


def us(made: Launch) -> float:
    return kernel_time(made, H200).us


@pytest.mark.parametrize(
    ("call", "axis"),
    [
        pytest.param("tl.sort(v)", 1, id="the last axis"),
        pytest.param("tl.sort(v, 1)", 1, id="by place"),
        pytest.param("tl.sort(v, dim=-1, descending=True)", 1, id="by name"),
        pytest.param("tl.topk(v, 8)", 1, id="how many is no axis"),
        pytest.param("tl.topk(v, k=8, dim=1)", 1, id="both by name"),
        pytest.param("tl.cumsum(v)", 0, id="a scan goes along the first"),
    ],
)
def test_sorts_go_along_the_last_axis(call: str, axis: int) -> None:
    made = launch("v = tl.load(x + at)", f"s = {call}", "tl.store(y + p, tl.sum(tl.sum(s, 1), 0))", r=4, c=512)
    (scan,) = [node for node, _ in made.kernel.walk(Scan)]
    assert isinstance(scan, Scan) and scan.axis == axis and scan.shape == (4, 512)


@pytest.mark.parametrize("call", ["tl.sort()", "tl.sort(v, p)", "tl.topk(v, p)", "tl.topk(v)", "tl.sort(3.0)"])
def test_sorts_that_are_wrong_raise_nothing(call: str) -> None:
    assert us(launch("v = tl.load(x + at)", f"s = {call}", "tl.store(y + at, v)")) > 0


@pytest.mark.parametrize(
    "call", ["tl.sort(v)", "tl.sort(v, 0)", "tl.topk(v, 1, 0)", "tl.topk(v, 2, dim=-1)", "v.sort(dim=3)"]
)
def test_one_number_is_sorted_without_an_axis(call: str) -> None:
    assert us(launch("v = tl.load(x + p)", f"s = {call}", "tl.store(y + p, s)")) > 0


def test_sorts_of_long_rows_take_longer_than_of_columns() -> None:
    body = ("v = tl.load(x + at)", "tl.store(y + at, tl.sort(v))")
    assert us(launch(*body, r=4, c=512, grid=8192, warps=2)) > 3 * us(launch(*body, r=512, c=4, grid=8192, warps=2))


def product(held: str, goes_by: str, **sizes: int | str) -> Launch:
    return launch(
        f"a = tl.load(x + at){held}",
        "j = tl.arange(0, 64)",
        "total = tl.zeros((R, 64), dtype=tl.float32)",
        "for i in range(n):",
        f"    b = tl.load(w + ((p * n + i) * 64 + j)[:, None] * C + c[None, :]){goes_by}",
        "    total += tl.abs(tl.dot(a, tl.trans(b), input_precision='ieee'))",
        "tl.store(y + (p * R + r)[:, None] * 64 + j[None, :], total)",
        **sizes,  # type: ignore[arg-type]
    )


def test_a_cast_operand_that_stays_and_does_not_fit_the_registers_is_read_from_memory() -> None:
    cast = ".to(tl.float32)"
    assert us(product(cast, cast, dtype="int8", r=16, c=256)) > 4 * us(product("", "", r=16, c=256))
    # Half of it fits.
    assert us(product(cast, cast, dtype="int8", r=16, c=64)) < 2 * us(product("", "", r=16, c=64))


def test_of_several_products_in_a_turn_memory_is_read_for_one() -> None:
    cast = ".to(tl.float32)"
    loop = dot_loop(product(cast, cast, dtype="int8", r=16, c=256))
    assert loop is not None and spilled_bytes(loop, H200) > 0
    assert spilled_bytes(replace(loop, steps=loop.steps * 2), H200) == spilled_bytes(loop, H200)


def test_a_product_without_a_loop_keeps_nothing() -> None:
    once = launch(
        "a = tl.load(x + at).to(tl.float32)",
        "j = tl.arange(0, 64)",
        "b = tl.load(w + j[:, None] * C + c[None, :]).to(tl.float32)",
        "tl.store(y + (p * R + r)[:, None] * 64 + j[None, :], tl.dot(a, tl.trans(b), input_precision='ieee'))",
        dtype="int8", r=16, c=256,
    )  # fmt: skip
    assert us(once) < us(product(".to(tl.float32)", ".to(tl.float32)", dtype="int8", r=16, c=256)) / 20


@pytest.mark.parametrize(
    ("body", "chained"),
    [
        pytest.param(
            ("    s = tl.dot(a, tl.trans(b))", "    h += tl.dot(s.to(b.dtype), b)"), True, id="a result of this turn"
        ),
        pytest.param(("    o = tl.dot(b, h.to(b.dtype))", "    h += tl.dot(tl.trans(b), b * 2.0)"), True, id="a state"),
        pytest.param(("    h = tl.dot(tl.sigmoid(h).to(a.dtype), a) + b",), True, id="its own of the turn before"),
        pytest.param(("    h += tl.dot(tl.trans(b), tl.exp(b))",), False, id="what was loaded and worked on"),
        pytest.param(("    h += tl.dot(tl.trans(b), b)",), False, id="what was loaded"),
    ],
)
def test_operands_that_a_dot_has_made(body: tuple[str, ...], chained: bool) -> None:
    made = launch(
        "a = tl.load(w + r[:, None] * C + c[None, :])", "h = tl.zeros((R, C), dtype=tl.float32)", "for i in range(n):",
        "    b = tl.load(x + (i * R + r)[:, None] * C + c[None, :])", *body, "tl.store(y + at, h)", r=64, c=64,
    )  # fmt: skip
    loop = dot_loop(made)
    assert loop is not None and is_chained(loop) is chained


@pytest.mark.parametrize("table", ["(r[:, None] <= c[None, :]).to(b.dtype)", "tl.full((R, C), 1.0, b.dtype)"])
def test_what_is_multiplied_with_a_table_that_is_worked_out_is_loaded(table: str) -> None:
    made = launch(
        "h = tl.zeros((R, C), dtype=tl.float32)", "for i in range(n):",
        "    b = tl.load(x + (i * R + r)[:, None] * C + c[None, :])", f"    h += tl.dot(tl.exp(b), {table})", "tl.store(y + at, h)",
        r=64, c=64,
    )  # fmt: skip
    loop = dot_loop(made)
    assert loop is not None and loop.steps[0].a.reload and not loop.steps[0].b.reload


def uneven(rows: int, programs: int = 132) -> Launch:
    return launch(
        "for row in range(p, n, tl.num_programs(0)):",
        "    v = tl.load(x + row * C + c)",
        "    tl.store(y + row, tl.sum(tl.exp(v), 0))",
        grid=programs, n=rows, c=1024,
    )  # fmt: skip


def test_a_grid_ends_with_the_program_that_has_most() -> None:
    assert us(uneven(140)) == pytest.approx(us(uneven(264)), rel=0.1)
    assert not traffic(uneven(264)).uneven
    assert {count for trips in traffic(uneven(140)).uneven for count in trips.values()} == {2.0}


def test_what_a_program_does_beside_its_longest_loop_is_not_done_more_often() -> None:
    def us_of(rows: int) -> float:
        return us(
            launch(
                "total = tl.zeros((C,), dtype=tl.float32)",
                "for i in range(500):",
                "    total += tl.exp(tl.load(w + (p * 500 + i) * C + c))",
                "for row in range(p, n, tl.num_programs(0)):",
                "    total += tl.load(x + row * C + c)",
                "tl.store(y + p * C + c, total)",
                grid=132,
                n=rows,
                c=1024,
            )
        )

    assert us_of(140) == pytest.approx(us_of(132), rel=0.02)


def test_loops_that_are_long_in_different_programs_are_not_added_up() -> None:
    def us_of(first: str, second: str) -> float:
        return us(
            launch(
                "total = tl.zeros((C,), dtype=tl.float32)",
                f"for i in range({first}):",
                "    total += tl.exp(tl.load(w + (p * n + i) * C + c))",
                f"for i in range({second}):",
                "    total += tl.exp(tl.load(x + (p * n + i) * C + c))",
                "tl.store(y + p * C + c, total)",
                grid=128,
                n=128,
                c=1024,
            )
        )

    assert us_of("p", "n - p") == pytest.approx(us_of("n // 2", "n // 2"), rel=0.05)
    assert us_of("p", "p") > 1.5 * us_of("n // 2", "n // 2")


def functions(call: str, each: int, dtype: str) -> Launch:
    return launch(
        "v = tl.load(x + at)", f"tl.store(y + at, {call})", dtype=dtype, r=each, c=128, grid=1024, warps=4
    )  # fmt: skip


def test_sines_of_many_doubles_a_thread_live_in_memory() -> None:
    few, many = (us(functions("tl.sin(v) * tl.cos(v)", each, "float64")) for each in (8, 64))
    assert many > 20 * few
    few, many = (us(functions("tl.sin(v) * tl.cos(v)", each, "float32")) for each in (8, 32))
    assert many < 8 * few


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_of_functions_of_one_name_the_largest_counts_wherever_it_stands(dtype: str) -> None:
    tile, number = "a = tl.sin(v) * tl.cos(v)", "b = tl.sin(f) + tl.cos(f)"
    first, last = (
        us(launch("v = tl.load(x + at)", "f = tl.load(w + p)", *order, "tl.store(y + at, a + b)", dtype=dtype, r=32, grid=1024))
        for order in ((tile, number), (number, tile))
    )  # fmt: skip
    assert first == pytest.approx(last)


def test_doubles_are_added_one_after_the_other() -> None:
    body = ("for i in range(n):", "    tl.atomic_add(y + c, tl.load(x + (p * n + i) * C + c))")
    doubles, floats = (us(launch(*body, dtype=dtype, grid=4096, warps=1)) for dtype in ("float64", "float32"))
    assert doubles > 3 * floats
