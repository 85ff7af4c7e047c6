"""Elements counted out by ranges are those that one finds lane by lane."""

from __future__ import annotations

import itertools
import random

import pytest

from kernlint.rules.proofs.iteration_domain import Site
from kernlint.rules.proofs.touched_elements import Touched
from kernlint.workload import Load, Span
from kernlint.workload.dtype import FLOAT32
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, Symbol, floordiv, lift, mod
from kernlint.workload.kernel import Loop

HERE = Span("x.py", 1, 1, 1, 2)
PID = Expr.atom(ProgramId(0))


def lane(dim: int) -> Expr:
    return Expr.atom(Lane(dim))


def site(offset: Expr, mask: tuple[tuple[Expr, Expr], ...] | None, shape: tuple[int, ...], trips: int = 0) -> Site:
    access = Load(1, "x", FLOAT32, shape, offset, mask, HERE)
    return Site(access, (Loop(1, "range", trips, (), HERE),) if trips else ())


def by_hand(place: Site, program: int, trips: int) -> set[int]:
    access = place.access
    assert access.offset is not None
    found = set()
    for trip, *lanes in itertools.product(range(max(1, min(trips, 8))), *map(range, access.shape)):
        point: dict[Atom, float] = {ProgramId(0): program, LoopIndex(1): trip}
        point |= {Lane(dim): i for dim, i in enumerate(lanes)}
        slacks = [(lift(right) - left).evaluate(point) for left, right in access.mask or ()]
        if all(slack is not None and slack > 0 for slack in slacks):
            element = access.offset.evaluate(point)
            assert element is not None
            found.add(int(element))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_same_as_by_hand(seed: int) -> None:
    draw = random.Random(seed)
    shape = tuple(draw.choice((1, 2, 4, 8)) for _ in range(draw.randrange(3)))
    trips = draw.choice((0, 3, 20))

    def line() -> Expr:
        total = lift(draw.randrange(-6, 7)) + PID * draw.randrange(-4, 9)
        for dim in range(len(shape)):
            total += lane(dim) * draw.choice((-2, 0, 1, 1, 3))
        if trips and draw.random() < 0.5:
            total += Expr.atom(LoopIndex(1)) * draw.randrange(1, 5)
        return total + lift(mod(PID, 3)) * 2 + lift(floordiv(PID, 2)) * 5

    mask = tuple((line(), lift(draw.randrange(20))) for _ in range(draw.randrange(4)))
    place = site(line(), mask, shape, trips)
    for program in (0, 1, 5):
        assert Touched(place).of({ProgramId(0): program}, 10_000) == by_hand(place, program, trips)


def test_too_many_or_unknown() -> None:
    whole = site(lane(0), None, (64,))
    assert Touched(whole).of({}, 64) == set(range(64))
    assert Touched(whole).of({}, 63) is None
    assert Touched(site(lane(0) + Expr.atom(Symbol("n")), None, (4,))).of({}, 64) is None
    assert Touched(site(Expr.atom(Opaque("load", (lane(0),))), None, (4,))).of({}, 64) is None
    # What the number of a program makes vanish counts for nothing.
    assert Touched(site(lane(0) + PID * Expr.atom(Symbol("n")), None, (4,))).of({ProgramId(0): 0}, 64) == {0, 1, 2, 3}
    # An index that is divided is not counted through.
    assert Touched(site(lift(floordiv(lane(0), 2)), None, (4,))).of({}, 64) is None
