"""The points of an access: extremes within masks, guards, loops and grids, each with a witness."""

from __future__ import annotations

import pytest

from kernlint.rules.proofs.iteration_domain import Site, Space, agrees, samples, sites, told
from kernlint.workload import Expr, Kernel, Lane, Launch, Load, Loop, LoopIndex, ProgramId, Span, Symbol, Workload
from kernlint.workload import dtype as dt
from kernlint.workload.expr import floordiv, mod, opaque

AT = Span("x.py", 1, 1, 1, 1)
PID, LANE, ITER = Expr.atom(ProgramId(0)), Expr.atom(Lane(0)), Expr.atom(LoopIndex(1))
N = Expr.atom(Symbol("n"))


def launch(grid=(4,), body=()):
    return Launch(Kernel("k", tuple(body), AT, AT, "x.py"), grid, {}, {}, 4, 3, AT, "run")


def load(offset, mask=None, shape=(16,)):
    return Load(1, "x", dt.FLOAT32, shape, offset, mask, AT)


def extremes(offset, mask=None, grid=(4,), shape=(16,), loops=(), guards=(), sizes=None):
    site = Site(load(offset, mask, shape), tuple(loops), guards)
    space = Space(launch(grid), site, sizes or {})
    largest, smallest = space.largest(offset), space.smallest(offset)
    return (smallest[0] if smallest else None, largest[0] if largest else None)


def loop(trip, kind="range"):
    return Loop(1, kind, trip, (), AT)


@pytest.mark.parametrize(
    ("offset", "mask", "low", "high"),
    [
        pytest.param(PID * 16 + LANE, None, 0, 63, id="no-mask"),
        pytest.param(PID * 16 + LANE, ((PID * 16 + LANE, Expr.constant(50)),), 0, 49, id="tail-mask"),
        pytest.param(PID * 16 + LANE, ((PID * 16 + LANE, Expr.constant(1)),), 0, 0, id="one-lane-left"),
        pytest.param(PID * 16 + LANE, ((LANE, Expr.constant(5)),), 0, 52, id="mask-inside-the-tile"),
        pytest.param(PID * 16 + LANE - 1, None, -1, 62, id="shifted"),
        pytest.param(PID * 16 + LANE - 1, ((Expr.constant(0), PID * 16 + LANE),), 0, 62, id="shifted-and-guarded"),
        pytest.param(63 - PID * 16 - LANE, None, 0, 63, id="reversed"),
        pytest.param(PID * 100 + LANE * 3, ((LANE, Expr.constant(4)), (PID, Expr.constant(3))), 0, 209, id="two-bounds"),
    ],
)  # fmt: skip
def test_extremes(offset, mask, low, high):
    assert extremes(offset, mask) == (low, high)


def test_a_mask_that_nothing_meets_has_no_point():
    assert extremes(LANE, ((LANE, Expr.constant(0)),)) == (None, None)


def test_a_point_that_nothing_moves_is_given_up_at_once(monkeypatch):
    """Bounds of quotients have no slope to follow (`(pid * 16 + lane) // 64 >= 1` from 0), so that a further round changes nothing."""
    rounds = []
    mend = Space._mend
    monkeypatch.setattr(Space, "_mend", lambda *args: rounds.append(args) or mend(*args))
    bound = floordiv(PID * 16 + LANE, Expr.constant(64))
    site = Site(load(LANE, ((Expr.constant(0), bound),)), (), ())
    space = Space(launch((8,)), site, {})
    assert space._repaired({ProgramId(0): 0, Lane(0): 0}) is None
    assert len(rounds) == 1
    assert space.largest(LANE)[0] == 15  # another point to begin at is allowed


def test_branch_guards_count():
    assert extremes(PID, guards=((PID, Expr.constant(2)),), shape=()) == (0, 1)


def test_loops_count():
    assert extremes(ITER * 16 + LANE, loops=(loop(5),)) == (0, 79)


def test_a_trip_count_that_depends_on_the_program():
    assert extremes(ITER, loops=(loop(PID + 1),), shape=()) == (0, 3)
    # The triangle i <= p: program 3 alone reaches iteration 3.
    assert extremes(ITER * 10 - PID, loops=(loop(PID + 1),), shape=()) == (-3, 27)


def test_open_sizes_need_values():
    assert extremes(PID * N, grid=(N,), shape=()) == (None, None)
    assert extremes(PID * N, grid=(N,), shape=(), sizes={Symbol("n"): 10}) == (0, 90)


def test_a_while_loop_of_unknown_length_is_known_to_begin():
    assert extremes(ITER, loops=(loop(None, "while"),), shape=()) == (0, 0)


def test_witness_is_allowed():
    offset, mask = PID * 16 + LANE, ((PID * 16 + LANE, Expr.constant(50)),)
    space = Space(launch(), Site(load(offset, mask), ()), {})
    value, point = space.largest(offset)
    assert space.allowed(point) and space.value(offset, point) == value == 49
    assert told(point) == "program 3, lane 1"


def test_enough_is_enough_only_where_nothing_is_above_it():
    offset, mask = PID * 16 + LANE, ((PID * 16 + LANE, Expr.constant(50)),)
    space = Space(launch(), Site(load(offset, mask), ()), {})
    # The mask is not asked: 63 is what the ranges leave.
    assert space.largest(offset, enough=62)[0] == space.largest(offset)[0] == 49
    value, point = space.largest(offset, enough=63)
    assert value <= 49 and space.allowed(point)
    assert space.smallest(offset - 3, enough=-2)[0] == -3
    assert space.smallest(offset - 3, enough=-3)[0] >= -3


def test_enough_makes_no_point_where_none_is_allowed():
    space = Space(launch(), Site(load(LANE, ((LANE, Expr.constant(0)),)), ()), {})
    assert space.largest(LANE, enough=1000) is None


def test_what_is_not_bounded_is_looked_for_everywhere():
    loaded = opaque("load", PID, key=1)
    space = Space(launch(), Site(load(LANE), ()), {})
    assert space.largest(LANE + loaded, enough=1000) is None
    quotient = floordiv(PID * 16 + LANE, 5)
    assert space.largest(quotient)[0] == 12 and space.smallest(mod(LANE, 7))[0] == 0
    assert (
        space.largest(opaque("xor", PID, Expr.constant(2)), enough=10)[0] == 2
    )  # of which no range is known: all corners


def test_samples_respect_what_the_program_checks():
    n = Symbol("n")
    workload = Workload("run", "x.py", (), bounds=((N, Expr.constant(65)),), zeros=())
    assert all(sizes[n] <= 64 for sizes in samples(workload, {n}))
    assert not agrees(workload, {n: 65})
    assert next(samples(workload, set())) == {}


def test_sites_know_the_branches_around_them():
    from kernlint.workload import Branch

    inner = load(PID)
    branch = Branch(((inner,), (load(LANE),)), AT, (((PID, Expr.constant(2)),), None))
    first, second = sites(Kernel("k", (branch,), AT, AT, "x.py"))
    assert first.guards == ((PID, Expr.constant(2)),) and not first.open
    assert second.guards == () and second.open
