"""Persistent programs: each works through its share of more items (tiles, rows) than there are programs."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.workload import (
    Access,
    Atomic,
    Branch,
    Expr,
    Launch,
    Loop,
    LoopIndex,
    Node,
    ProgramId,
    Span,
    Symbol,
    concrete,
)
from kernlint.workload.at_sizes import substituted
from kernlint.workload.expr import Atom, lift

#: The item that a program is at, wherever it stands among the programs' shares.
_ITEM = Symbol("item of a persistent loop")


@dataclass(frozen=True)
class Shares:
    """``items`` worked off by ``programs`` along an axis of the grid, in the loop ``loop`` of each; ``strided`` where program p
    takes p, p + programs, ..., else a run of neighbours. Nothing else in the kernel depends on which program it is."""

    axis: int
    loop: int
    span: Span
    items: int
    programs: int
    strided: bool


def shares(launch: Launch) -> Shares | None:
    """How the programs of ``launch`` share out the items of a loop; None where they do not, or need each other."""
    if not launch.kernel.complete or any(_waits(node) for node, _ in launch.kernel.walk()):
        return None
    for axis, size in enumerate(launch.grid):
        programs = concrete(size)
        for loop in launch.kernel.body:
            if programs is None or not isinstance(loop, Loop) or loop.trip is None:
                continue
            trips = _trips(loop, axis, programs)
            if trips is None or max(trips, default=0) < 2:
                continue
            items = sum(trips)
            for strided in (True, False):
                found = Shares(axis, loop.id, loop.span, items, programs, strided)
                if trips == _shared_out(found) and _follows_item(launch, found):
                    return found
    return None


def _waits(node: Node) -> bool:
    """Whether programs may wait for each other here."""
    return (isinstance(node, Loop) and node.kind == "while") or (
        isinstance(node, Atomic) and node.op in ("cas", "xchg")
    )


def _trips(loop: Loop, axis: int, programs: int) -> list[int] | None:
    """Trips of each program along ``axis``; None where they depend on more than that."""
    trip = lift(loop.trip if loop.trip is not None else 0)
    found: list[int] = []
    for program in range(programs):
        value = trip.evaluate({ProgramId(axis): float(program)})
        if value is None:
            return None
        found.append(max(0, int(value)))
    return found


def _shared_out(found: Shares) -> list[int]:
    """The trips of each program."""
    if found.strided:
        return [-(-(found.items - program) // found.programs) for program in range(found.programs)]
    run = -(-found.items // found.programs)
    return [max(0, min(run, found.items - program * run)) for program in range(found.programs)]


def _item(found: Shares) -> Expr:
    """The item of an iteration of a program."""
    program, index = Expr.atom(ProgramId(found.axis)), Expr.atom(LoopIndex(found.loop))
    if found.strided:
        return program + index * found.programs
    return program * -(-found.items // found.programs) + index


def _by_item(launch: Launch, found: Shares) -> Launch:
    """``launch`` with addresses that say the item in place of program and iteration, as far as they follow from it."""
    program, index = ProgramId(found.axis), LoopIndex(found.loop)
    if found.strided:
        return substituted(launch, {program: Expr.atom(_ITEM) - Expr.atom(index) * found.programs})
    return substituted(launch, {index: Expr.atom(_ITEM) - _item(found) + Expr.atom(index)})


def _follows_item(launch: Launch, found: Shares) -> bool:
    """Whether what the kernel does depends on the item alone, and not on the program that is at it."""
    gone: set[Atom] = {ProgramId(found.axis), LoopIndex(found.loop)}
    nodes = [node for node, _ in _by_item(launch, found).kernel.walk()]
    others = [node for node in nodes if not (isinstance(node, Loop) and node.id == found.loop)]
    used = any(_ITEM in expr.atoms() for node in nodes if isinstance(node, Access) for expr in _expressions(node))
    return used and all(gone.isdisjoint(expr.atoms()) for node in others for expr in _expressions(node))


def _expressions(node: Node | Access) -> Iterator[Expr]:
    if isinstance(node, Access):
        yield from node.expressions
    elif isinstance(node, Loop):
        yield from [lift(node.trip)] if node.trip is not None else []
    elif isinstance(node, Branch):
        yield from (side for bounds in node.conditions for pair in bounds or () for side in pair)
