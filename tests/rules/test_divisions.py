"""Divisions of a flat index: both ways to write them have the values of the divisions."""

import pytest

from kernlint.rules.proofs.index_divisions import apart, flat_index, whole
from kernlint.workload import Lane, ProgramId
from kernlint.workload.expr import Expr, Opaque, floordiv, lift, mod

PROGRAM, LANE = ProgramId(0), Lane(0)


def values(expr: Expr, tile: int) -> list[float]:
    points = ({PROGRAM: p, LANE: lane} for p in range(6) for lane in range(tile))
    return [expr.evaluate(point) for point in points]


@pytest.mark.parametrize("tile", [4, 6, 8])
@pytest.mark.parametrize("divisor", [2, 3, 4, 8, 12, 16, 24])
def test_values_stay(tile: int, divisor: int) -> None:
    flat = flat_index(PROGRAM, tile)
    for expr in (lift(floordiv(flat, divisor)), lift(mod(flat, divisor)), 5 * lift(floordiv(flat, divisor)) + flat):
        for form in (expr, whole(expr, PROGRAM, tile), apart(expr, {LANE: tile})):
            assert values(form, tile) == values(expr, tile)


@pytest.mark.parametrize("divisor", [2, 4, 8])
def test_whole_divides_the_index_itself(divisor: int) -> None:
    flat = flat_index(PROGRAM, 8)
    for divided in (floordiv(flat, divisor), mod(flat, divisor)):
        atoms = [atom for atom in whole(lift(divided), PROGRAM, 8).atoms() if isinstance(atom, Opaque)]
        assert [atom.args[0] for atom in atoms] == [flat]


@pytest.mark.parametrize("divisor", [16, 24])
def test_apart_divides_programs_alone(divisor: int) -> None:
    flat = flat_index(PROGRAM, 8)
    for divided in (floordiv(flat, divisor), mod(flat, divisor)):
        atoms = [atom for atom in apart(lift(divided), {LANE: 8}).atoms() if isinstance(atom, Opaque)]
        assert [atom.args[0] for atom in atoms] == [Expr.atom(PROGRAM)]
