"""What loaded bounds of segments are in the mean: the row pointers of a sparse matrix, the offsets of bags and of sequences.

A kernel that walks from ``p[i]`` to ``p[i + 1]`` through the elements of an array walks through all of it once over the grid. The
array's size over the number of segments is then the mean length of one, which gives the trips of the loop, the lanes inside its
masks, and the addresses: segment ``i`` begins near ``i`` times that length. Where the inputs draw the lengths, their mean is known without
the array.

A kernel that reads how far to go along an axis (the valid length of a padded sequence, of a cache) may go all along it: the extent of
that axis stands for what was read.

What the inputs draw comes before what sizes tell. It is not one number: loops run as often as its middle says for some programs, and
the launch ends with that which drew most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernlint.workload import (
    Atomic,
    Branch,
    Expr,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Opaque,
    ProgramId,
    Size,
    Store,
    concrete,
)
from kernlint.workload.expr import Atom, simplify
from kernlint.workload.tensor import Expected

#: Draws that stand for all: how far from the mean each lies, in parts of the spread.
_DRAWS = (-0.8, -0.4, 0.0, 0.4, 0.8)


def drawn_bounds(launch: Launch) -> list[dict[Atom, Expr]]:
    """As :func:`likely_bounds`, once for each of a few draws, and last as the largest of those of all programs is; empty where nothing
    is drawn."""
    bounds = likely_bounds(launch)
    if not bounds or likely_bounds(launch, 1.0) == bounds:
        return []
    programs = math.prod(concrete(extent) or 1 for extent in launch.grid)
    return [likely_bounds(launch, draw) for draw in (*_DRAWS, 1 - 2 / (programs + 1))]


def likely_bounds(launch: Launch, draw: float = 0.0) -> dict[Atom, Expr]:
    """The loaded values that bound the loops of ``launch`` and decide its branches, each as what it is in the mean over the grid;
    lengths and counts lie ``draw`` parts of their spread above it."""
    kernel = launch.kernel
    counted = [(node, node.trip) for node in kernel.nodes(Loop) if loaded(node.trip)]
    asked = [gap for node in kernel.nodes(Branch) for gap in _gaps(node) if loaded(gap)]
    found: dict[Atom, Expr] = {}
    if counted or asked:
        loads = {load.id: load for load in kernel.loads()}
        for loop, trip in counted:
            bounds = loaded(trip)
            if any(atom not in found for atom in bounds):
                found.update(_segment(launch, loop, bounds, loads, draw))
            for atom in bounds:
                mean = _mean(expected_of(launch, loads.get(atom.key)), draw)
                if mean is not None:
                    found.setdefault(atom, Expr.constant(mean))
        for gap in asked:
            # A mean stands for what was drawn where it is held against what takes many values.
            spread = any(isinstance(atom, (ProgramId, LoopIndex)) for atom in gap.atoms())
            for atom in loaded(gap):
                held = expected_of(launch, loads.get(atom.key))
                if held.mean is not None and (spread or held.equal):
                    found.setdefault(atom, Expr.constant(round(held.mean)))
    return found


def _mean(held: Expected, draw: float) -> int | None:
    """A number of those ``held``, ``draw`` parts of their spread above the mean."""
    if held.mean is None:
        return None
    return max(1, round(held.mean)) if not draw or held.step is not None else round(held.mean + draw * held.spread)


def _gaps(branch: Branch) -> list[Expr]:
    """How far the bounds that ``branch`` asks for lie apart."""
    bounds = [bound for condition in branch.conditions if condition for bound in condition]
    return [gap for left, right in bounds if isinstance(gap := right - left, Expr)]


def greatest_lengths(launch: Launch, known: Mapping[Atom, Expr]) -> dict[Atom, Expr]:
    """The loaded values beside ``known`` that bound loops along an axis of a tensor, each as the extent of that axis: the most
    that it can be."""
    found: dict[Atom, Expr] = {}
    for loop in launch.kernel.nodes(Loop):
        bounds = loaded(loop.trip) if isinstance(loop, Loop) else []
        if isinstance(loop, Loop) and any(atom not in known for atom in bounds):
            found.update(_along_an_axis(launch, loop, bounds))
    return found


def loaded(size: Size | None) -> list[Opaque]:
    """The values read from memory that ``size`` depends on."""
    if not isinstance(size, Expr):
        return []
    return [atom for atom in size.atoms() if isinstance(atom, Opaque) and atom.op == "load"]


def expected_of(launch: Launch, load: Load | None) -> Expected:
    """What ``load`` reads in the mean; nothing is known of what the launch itself writes."""
    tensor = launch.tensor(load.base) if load is not None else None
    if tensor is None or tensor.storage.expected == Expected():
        return Expected()
    written = (launch.tensor(node.base) for node in launch.kernel.nodes((Store, Atomic)))
    return Expected() if any(w and w.storage.id == tensor.storage.id for w in written) else tensor.storage.expected


def _segment(launch: Launch, loop: Loop, bounds: list[Opaque], loads: dict[int, Load], draw: float) -> dict[Atom, Expr]:
    """The bounds of ``loop`` from the first load in it that begins at a loaded place and moves on with the loop."""
    for load, loops in launch.kernel.walk(Load):
        if loop not in loops or not isinstance(load, Load) or load.offset is None:
            continue
        starts = loaded(load.offset)
        if len(starts) != 1 or LoopIndex(loop.id) not in load.offset.atoms():
            continue
        (start,) = starts
        pointer = loads.get(start.key)
        coefficient = load.offset.coefficient(start)
        step = concrete(simplify(coefficient)) if coefficient is not None else None
        pace = load.offset.coefficient(LoopIndex(loop.id))
        if pointer is None or pointer.offset is None or pointer.shape or not step or not _same_way(step, pace):
            continue
        ends = {atom: _beyond(loads.get(atom.key), pointer) for atom in bounds if atom != start}
        closed = None not in ends.values() and bool(ends)
        told = expected_of(launch, pointer)
        each = told.step or _shared_out(launch, load, pointer, abs(step), closed)
        if each is None:
            continue
        apart = max(1, round(each))
        length = round(each + draw * told.spread) if draw and told.step else apart
        found: dict[Atom, Expr] = {start: pointer.offset * apart}
        for atom, end in ends.items():
            drawn = _mean(expected_of(launch, loads.get(atom.key)), draw)
            if end is None:
                found[atom] = Expr.constant(length if drawn is None else drawn)
            else:
                found[atom] = pointer.offset * apart + (end - pointer.offset) * length
        return found
    return {}


def _same_way(step: int, pace: Expr | None) -> bool:
    """Whether a load that goes on by ``pace`` each turn begins ``step`` times a loaded place, and not that far before it."""
    each = concrete(simplify(pace)) if pace is not None else None
    return each is None or each * step > 0


def _shared_out(launch: Launch, load: Load, pointer: Load, step: int, closed: bool) -> float | None:
    """What ``load`` walks, in steps of so many elements, over the segments; where they are ``closed``, the last pointer begins none."""
    places, elements = launch.tensor(pointer.base), launch.tensor(load.base)
    if places is None or elements is None or not elements.numel:
        return None
    count = max(1, places.numel - closed) if places.numel else _programs(launch, pointer)
    return elements.numel / (step * count) if count else None


def _programs(launch: Launch, pointer: Load) -> int:
    """How many segments there are where each program of one axis of the grid reads the place of its own; 0 where that is not so."""
    for axis, extent in enumerate(launch.grid):
        if pointer.offset is not None and pointer.offset == Expr.atom(ProgramId(axis)):
            return concrete(extent) or 0
    return 0


def _along_an_axis(launch: Launch, loop: Loop, bounds: list[Opaque]) -> dict[Atom, Expr]:
    """The bound of ``loop`` as the extent of the axis that the first load in it moves along; nothing where that cannot be told."""
    if len(bounds) != 1:
        return {}
    for load, loops in launch.kernel.walk(Load):
        if loop not in loops or not isinstance(load, Load) or load.offset is None:
            continue
        coefficient, tensor = load.offset.coefficient(LoopIndex(loop.id)), launch.tensor(load.base)
        step = concrete(simplify(coefficient)) if coefficient is not None else None
        if not step or tensor is None or tensor.shape is None or tensor.strides is None:
            continue
        axes = [(concrete(stride), concrete(extent)) for stride, extent in zip(tensor.strides, tensor.shape)]
        along = [(stride, extent) for stride, extent in axes if stride and extent and extent > 1 and step % stride == 0]
        if along:
            stride, extent = max(along)
            # Where the trip is a quotient of what was read, that much more than there are steps along the axis.
            most = extent * _divisor(loop.trip or 1, bounds[0]) * stride // abs(step)
            return {bounds[0]: Expr.constant(most)} if stride <= abs(step) else {}
    return {}


def _divisor(size: Size, bound: Opaque) -> int:
    """What ``bound`` is divided by in ``size``, where that is least: programs that share it out (``min(end_of_share, bound)``) go as far
    as it goes all together."""
    ways = [1]
    if isinstance(size, Expr) and not any(bound in monomial for monomial in size.terms):
        made = {atom for monomial in size.terms for atom in monomial if isinstance(atom, Opaque)}
        ways = [
            _divisor(arg, bound) * ((concrete(atom.args[1]) or 1) if atom.op == "floordiv" else 1)
            for atom in made
            for arg in atom.args
            if bound in arg.atoms()
        ]
    return min(ways, default=1)


def _beyond(load: Load | None, pointer: Load) -> Expr | None:
    """The index of ``load`` where it reads a pointer a fixed step after ``pointer``; None for a length."""
    if load is None or load.base != pointer.base or load.offset is None or pointer.offset is None:
        return None
    return load.offset if concrete(simplify(load.offset - pointer.offset)) is not None else None
