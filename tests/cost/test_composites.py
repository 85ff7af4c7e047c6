"""What several classes of work cost in one program, against ``h200-composites.csv``."""

from __future__ import annotations

import math

import pytest
from bench_launches import bench_module, measured, read

from kernlint.cost.device import find_device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.programs.price import price_of
from kernlint.workload import Compute, Launch, Loop

H200 = find_device("h200-sxm")


def launch(family: str, **params: object) -> Launch:
    case = getattr(bench_module("composites"), f"{family}_case")(params)
    assert case is not None
    return read(case.launches[0])


def recurrent(dtype: str = "float32", form: str = "delta", programs: int = 2048) -> Launch:
    return launch("recurrent", FORM=form, dtype=dtype, R=128, C=64, steps=32, programs=programs, num_warps=4)


def rounds(work: str, **params: object) -> Launch:
    given = {"dtype": "float32", "R": 64, "C": 64, "count": 20, "programs": 264, "num_warps": 1, **params}
    return launch("rounds", WORK=work, **given)


def product(before: str, after: str = "none", tile: tuple[int, int, int] = (32, 32, 32)) -> Launch:
    return launch(
        "product",
        shape=(1024, 1024, 256),
        tile=tile,
        BEFORE=before,
        AFTER=after,
        dtype="float16",
        num_warps=8,
        num_stages=3,
    )


def computed(made: Launch) -> list[tuple[str, int]]:
    return [(node.op, node.elements) for node, _ in made.kernel.walk(Compute) if isinstance(node, Compute)]


def us(made: Launch) -> float:
    return kernel_time(made, H200).us


@pytest.mark.parametrize("step", [7])
def test_the_rows_are_priced(step: int) -> None:
    """A sample of all families, fitted or not."""
    times = measured("h200-composites.csv")
    cases = [
        case for case in bench_module("composites").cases()[::step] if case.key in times and len(case.launches) == 1
    ]
    errors = [math.log(us(read(case.launches[0])) / times[case.key]) for case in cases]
    assert sum(abs(error) < math.log(1.5) for error in errors) / len(errors) > 0.85


def test_a_loop_says_how_many_words_it_carries() -> None:
    def carried(made: Launch) -> list[int]:
        return [node.carried for node, _ in made.kernel.walk(Loop) if isinstance(node, Loop)]

    assert carried(recurrent()) == [128 * 64]
    assert carried(recurrent("float64")) == [2 * 128 * 64]
    assert carried(rounds("scale")) == [64 + 64]


def test_a_state_and_the_tile_that_its_loop_uses_fill_the_registers() -> None:
    assert price_of(recurrent(), H200).resident <= 3, "224 registers of four warps: two programs"
    assert us(recurrent("float64", programs=264)) > 3 * us(recurrent(programs=264))


def test_quotients_by_what_a_row_has_in_common_share_their_reciprocal() -> None:
    made = computed(rounds("tile"))
    assert [op for op, elements in made if elements == 4096 and op in ("/", "/ shared")] == ["/ shared"] * 2
    assert ("/", 4096) not in computed(rounds("tile", dtype="float16"))
    assert ("/", 4096) in computed(rounds("tile", dtype="float64"))


def test_a_choice_between_numbers_is_as_wide_as_its_condition() -> None:
    assert ("where", 4096) in computed(rounds("bisect"))


def test_what_a_reduction_leaves_is_worked_on_by_all_lanes_that_had_a_part() -> None:
    few, many = (us(rounds("scale", dtype="float64", C=16, count=80, programs=1, num_warps=n)) for n in (8, 1))
    assert many > 2 * few


def test_sines_of_many_elements_a_thread_wait_for_their_instructions() -> None:
    def sines(warps: int) -> float:
        return us(launch("composed", SOURCE="masked", FIRST="trig", SECOND="none", SINK="keep", dtype="float32", R=64, C=64, turns=4,
                         programs=16, num_warps=warps))  # fmt: skip

    assert sines(2) > 4 * sines(8)


def test_each_warp_makes_the_computed_operands_that_it_needs() -> None:
    (step,) = dot_loop(product("silu")).steps
    assert step.a.work > 10 and not step.b.work
    (shifted,) = dot_loop(product("shifted")).steps
    assert shifted.b.work and shifted.b.memory_dtype.bits == 8 and not shifted.a.work
    assert us(product("silu")) > 2 * us(product("none"))


def test_work_after_a_product_is_priced() -> None:
    assert us(product("none", "gelu", (64, 128, 32))) > 1.1 * us(product("none", tile=(64, 128, 32)))
