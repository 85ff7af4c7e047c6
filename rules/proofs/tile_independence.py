"""Whether a program with another tile computes what it did: everything but the tile is held against the program before.

A tile is free where nothing else reads it. What a source depends on it for is found by what changes with it: a buffer that
the host makes, an argument, the group of scales that a step of the loop picks. Each access has to touch the elements that it
touched before, over all programs and iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod

from kernlint.cost.evaluate import Columns
from kernlint.interpret.edits import Edits
from kernlint.interpret.host.journal import alike
from kernlint.records import dataclass
from kernlint.rules.proofs.folded_reductions import is_folded, is_neutral
from kernlint.rules.proofs.indices import Addresses, addresses
from kernlint.rules.proofs.same_elements import same_values
from kernlint.workload import (
    Access,
    Atomic,
    Branch,
    Compute,
    Dot,
    Kernel,
    Launch,
    Loop,
    Node,
    Reduce,
    Scan,
    Size,
    Step,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.expr import OPERATIONS, Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, lift, simplify

#: Points at which an index is evaluated to see what it reaches.
_POINTS = 1 << 16
#: Values of a sum of indices that are told apart.
_VALUES = 1 << 16


@dataclass(frozen=True)
class Difference:
    """What is another one with the other tile; ``certain`` where the program then computes something else, else it may."""

    what: str
    certain: bool


def difference(before: Workload, after: Workload | None, edits: Edits) -> Difference | None:
    """What ``edits`` of tiles change beside the tiles; None where it is proven that they change nothing. Warps and stages
    do not count."""
    if after is None:
        return Difference("the program cannot be followed then", False)
    # What is kept for later calls too.
    old, new = (one.first_call().all_steps for one in (before, after))
    changed = [(one, other) for one, other in zip(old, new) if one is not other]
    if len(old) != len(new) or any(type(one) is not type(other) for one, other in changed):
        return Difference("the host then does other steps", True)
    found: list[Difference] = []
    if len(after.faults) > len(before.faults):
        found.append(Difference("the host code then fails", True))
    if not _same_data(before.result, after.result):
        found.append(Difference("what the call returns depends on the tile", True))
    lines = Counter(one.span.line for one, _ in changed)
    #: Of launches that are alike one is enough.
    seen: set[tuple[object, object]] = set()
    for one, other in changed:
        if isinstance(one, Launch) and isinstance(other, Launch):
            kind = (one.likeness, other.likeness) if lines[one.span.line] > 1 else (id(one), id(other))
            if kind not in seen:
                seen.add(kind)
                found += _of_launch(one, other, edits)
        elif not _same_step(one, other):
            what = f"`{one.name}` at line {one.span.line}" if isinstance(one, TorchOp) else f"line {one.span.line}"
            found.append(Difference(f"{what} depends on the tile", True))
    return max(found, key=lambda one: one.certain, default=None)


def _same_step(one: Step, other: Step) -> bool:
    if isinstance(one, TorchOp) and isinstance(other, TorchOp):
        alike = (one.name, one.kind, one.dims) == (other.name, other.kind, other.dims)
        called = [None if step.call is None else (step.call.args, dict(step.call.kwargs)) for step in (one, other)]
        return alike and _same_data((one.reads, one.writes, called[0]), (other.reads, other.writes, called[1]))
    return True


def _same_data(one: object, other: object) -> bool:
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_same_data, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same_data(value, other[key]) for key, value in one.items())
    return _same_value(one, other)


def _same_value(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return (one.dtype, one.shape, one.strides, one.offset) == (
            other.dtype,
            other.shape,
            other.strides,
            other.offset,
        )
    return type(one) is type(other) and one == other


def _of_launch(old: Launch, new: Launch, edits: Edits) -> Iterator[Difference]:
    name = f"`{old.kernel.name}`"
    if old.kernel.name_span != new.kernel.name_span:
        yield Difference("another kernel is launched then", True)
        return
    for parameter, value in old.arguments.items():
        if not _same_value(value, new.arguments.get(parameter)):
            yield Difference(f"`{parameter}` of {name} depends on the tile", isinstance(value, Tensor))
    set_here = _set_by(edits, old)
    for parameter, constant in old.constexprs.items():
        other = new.constexprs.get(parameter)
        # A flag such as EVEN_K chooses between masks; the accesses tell whether it chose rightly.
        if other != constant and parameter not in set_here and not isinstance(constant, bool):
            yield Difference(f"`{parameter}` of {name} depends on the tile", False)
    # What is proven of a kernel holds for its copies; each is kept beside the proof, so that nothing else comes to have its identity.
    proven, key = old.original.kernel.launched, (_of_launch, *_told_apart(old), *_told_apart(new))
    if key in proven or (old.kernel, old.grid) == (new.kernel, new.grid):
        return
    found = list(_of_kernel(old, new))
    if not found:
        proven[key] = old.original, new.original
    yield from found


def _told_apart(launch: Launch) -> tuple[object, ...]:
    """What tells ``launch`` from others of its kernel and of copies of that."""
    return launch.work, alike(list(launch.arguments.values()), {}), alike(dict(launch.constexprs), {})


def _set_by(edits: Edits, launch: Launch) -> set[str]:
    """The constexprs of ``launch`` that ``edits`` give another value directly."""
    changed = edits.new_literals.keys()
    named = {name for name, places in launch.literals.items() if not changed.isdisjoint(places)}
    return named.union(edits.new_options.get(launch.span, ()))


def _of_kernel(old: Launch, new: Launch) -> Iterator[Difference]:
    if not (old.kernel.complete and new.kernel.complete):
        yield Difference(f"`{old.kernel.name}` was not followed to its end", False)
        return
    ones, others = list(_nodes(old.kernel)), list(_nodes(new.kernel))
    if [type(one) for one, _ in ones] != [type(one) for one, _ in others]:
        yield Difference(f"`{old.kernel.name}` then takes other steps", False)
        return
    if not same_values(old, new):
        yield Difference(f"what `{old.kernel.name}` stores may depend on the tile", False)
    adds = any(isinstance(node, Compute) and node.accumulates for node, _ in ones)
    if old.kernel.random and old.kernel.random != new.kernel.random:
        yield Difference("the random numbers are others", False)
    for (one, loops), (other, others_loops) in zip(ones, others):
        where = f"at line {one.span.line}"
        if isinstance(one, Access) and isinstance(other, Access):
            yield from _of_access((old, one, loops), (new, other, others_loops), where)
        elif isinstance(one, Dot) and isinstance(other, Dot):
            if one.k != other.k and not (one.accumulates or adds):
                yield Difference(f"the product {where} is of another part of K", False)
        elif isinstance(one, Reduce) and isinstance(other, Reduce):
            if _reduced(one) != _reduced(other) and not _folded((old, one, loops), (new, other, others_loops)):
                yield Difference(f"the reduction {where} is over the tile", False)
        elif isinstance(one, Scan) and isinstance(other, Scan):
            if one.shape[one.axis] != other.shape[other.axis]:
                yield Difference(f"the scan {where} is along the tile", False)
        elif isinstance(one, Branch) and isinstance(other, Branch) and one.conditions != other.conditions:
            yield Difference(f"the condition {where} depends on the tile", False)


def _nodes(kernel: Kernel) -> Iterator[tuple[Node, tuple[Loop, ...]]]:
    """The nodes that a tile may change the meaning of; arithmetic is as it was on other lanes."""
    return (pair for pair in kernel.walk() if not isinstance(pair[0], Compute) or pair[0].accumulates)


_Reduced = tuple[Launch, Reduce, tuple[Loop, ...]]


def _reduced(node: Reduce) -> int:
    return prod(node.shape) if node.axis is None else node.shape[node.axis]


def _folded(one: _Reduced, other: _Reduced) -> bool:
    """Whether a loop puts together what it reduces part by part, in parts of two lengths that hold the same: no masked lane counts, or
    as many."""
    (old, reduce, loops), (new, twin, others) = one, other
    if (
        not loops
        or not others
        or not is_folded(old.kernel, reduce, loops[-1])
        or not is_folded(new.kernel, twin, others[-1])
    ):
        return False
    if is_neutral(reduce) and is_neutral(twin):
        return True
    if len(loops) != 1 or len(others) != 1:
        return False
    trip, trips = concrete(loops[0].trip), concrete(others[0].trip)
    return trip is not None and trips is not None and trip * _reduced(reduce) == trips * _reduced(twin)


# -- accesses ---------------------------------------------------------------------------------------------------------

_Placed = tuple[Launch, Access, tuple[Loop, ...]]


def _of_access(old: _Placed, new: _Placed, where: str) -> Iterator[Difference]:
    before, after = old[1], new[1]
    what = f"the access to `{before.base}` {where}"
    # How often is the same where it is known on both sides: two unknown numbers need not be equal.
    if isinstance(before, Atomic) and ((times := _times(*old)) is None or times != _times(*new)):
        yield Difference(f"{what} happens another number of times for each element", False)
    if before.base != after.base or before.dtype != after.dtype:
        yield Difference(f"{what} goes elsewhere", True)
        return
    known: list[list[_Reach]] = [[], []]
    for asked in (_symbolic, _counted):  # to count takes longer
        for digits, one in zip(known, (old, new)):
            reach = _known(asked, *one)
            if reach is not None:
                digits.append(reach)
        if any(digits in known[1] for digits in known[0]):
            return
    told = (
        [d for d in digits if all(concrete(n) is not None for digit in d.digits for n in digit)] for digits in known
    )
    if all(told):
        yield Difference(f"{what} touches other elements with another tile", True)
    else:
        yield Difference(f"{what} could not be shown to touch the same elements with another tile", False)


def _known(
    asked: Callable[..., _Reach | None], launch: Launch, access: Access, loops: tuple[Loop, ...]
) -> _Reach | None:
    """``asked(launch, access, loops)``: the program as it stands is held against one tile after another."""
    known = launch.kernel.launched
    key = asked, id(access), launch.shapes
    if key not in known:
        known[key] = asked(launch, access, loops)
    found: _Reach | None = known[key]
    return found


def _times(launch: Launch, access: Access, loops: tuple[Loop, ...]) -> Size | None:
    """How often an access comes to an element by programs, rounds and lanes that its address does not tell apart."""
    ranges: list[tuple[Atom, Size | None]] = [(ProgramId(axis), extent) for axis, extent in enumerate(launch.grid)]
    ranges += [(LoopIndex(loop.id), loop.trip) for loop in loops]
    ranges += [(Lane(dim), extent) for dim, extent in enumerate(access.shape)]
    told = lift(access.offset or 0).atoms()
    alike = [extent for atom, extent in ranges if atom not in told]
    return None if None in alike else simplify(prod((lift(one) for one in alike if one is not None), start=lift(1)))


@dataclass(frozen=True)
class _Reach:
    """The offsets that an access touches: those that the ``digits`` (stride and number of steps) count through, from each of
    the ``starts`` on."""

    digits: tuple[tuple[Size, Size], ...]
    starts: frozenset[int] = frozenset({0})


#: What an access touches in a grid without programs, or in a loop without rounds.
_NOTHING = _Reach((), frozenset())


def _symbolic(launch: Launch, access: Access, loops: tuple[Loop, ...]) -> _Reach | None:
    found: Addresses | None = addresses(launch, access, loops) if getattr(access, "mask_known", True) else None
    return _clipped(launch, access, _Reach(_merged([(d.stride, d.extent) for d in found.digits]))) if found else None


def _counted(launch: Launch, access: Access, loops: tuple[Loop, ...]) -> _Reach | None:
    """The same by evaluating the offset: where indices are divided or wrap around, sizes being known."""
    if access.offset is None or access.mask == () or access.through or not getattr(access, "mask_known", True):
        return None
    ranges: dict[Atom, int] = {Lane(dim): extent for dim, extent in enumerate(access.shape)}
    sizes: list[tuple[Atom, Size | None]] = [(ProgramId(axis), extent) for axis, extent in enumerate(launch.grid)]
    for atom, extent in [*sizes, *((LoopIndex(loop.id), loop.trip) for loop in loops)]:
        number = concrete(extent)
        if number is None:
            return None
        if number <= 0:
            return _NOTHING
        ranges[atom] = number
    bounded = _bounded(access, ranges)
    if bounded is None:
        return None
    digits, rest = bounded
    starts = frozenset({0})
    for part in _parts(rest):
        values = _values(part, ranges)
        if values is None or len(starts) * len(values) > _VALUES:
            return None
        found, left = _factored(values)
        digits += found
        starts = frozenset(a + b for a in starts for b in left)
    merged = _Reach(_merged(digits), starts)
    return _clipped(launch, access, merged)


def _bounded(access: Access, ranges: dict[Atom, int]) -> tuple[list[tuple[Size, Size]], Expr] | None:
    """One digit for each bound of the mask that an index reaches, and the offset without those indices. None where an index
    leaves gaps below its bound, or the bounds are not apart from one another."""
    rest = lift(access.offset or 0)
    digits: list[tuple[Size, Size]] = []
    programs: list[frozenset[int]] = []
    moving: list[Expr] = []
    for left, right in access.mask or ():
        # `k < K - step * BK` says the same as `k + step * BK < K`.
        slack = lift(right) - left
        size = slack.terms.get((), 0)
        index = size - slack
        values = _values(index, ranges)
        if values is None:
            return None
        if max(values) < size:
            continue  # it holds for all lanes
        lane = next((a for a in index.atoms() if isinstance(a, Lane)), None)
        step, stride = (index.coefficient(lane), rest.coefficient(lane)) if lane is not None else (None, None)
        if lane is None or step is None or stride is None or step.value != 1 or stride.value is None:
            return None
        if not values >= {*range(size)}:
            return None
        rest = rest - index * stride
        digits.append((stride.value, size))
        moving.append(index.substitute({a: 0 for a in index.atoms() if isinstance(a, Lane)}))
    # Every index has to meet every other: where both come from one program id, its values are counted.
    for part in moving:
        values = _values(part, ranges)
        if values is None:
            return None
        programs.append(values)
    if len(moving) > 1:
        shared = {a: ranges[a] for part in moving for a in part.atoms() if a in ranges}
        met = _at_all(moving, shared) if prod(shared.values()) <= _POINTS else None
        if met is None or len({*zip(*met)}) != prod(map(len, programs)):
            return None
    return digits, Expr(rest.terms)


def _at_all(exprs: Sequence[Expr], ranges: Mapping[Atom, int]) -> list[list[float]] | None:
    """The values of ``exprs`` at all the points that ``ranges`` make; None where one cannot be computed."""
    points = [*product(*map(range, ranges.values()))]
    columns = Columns(dict(zip(ranges, zip(*points))), len(points))
    found = [values for expr in exprs if (values := columns.values(expr)) is not None]
    return found if len(found) == len(exprs) else None


def _parts(expr: Expr) -> list[Expr]:
    """``expr`` as a sum of parts that have no index in common."""
    parts: list[tuple[set[Atom], Expr]] = []
    for monomial, coefficient in expr.terms.items():
        term = Expr({monomial: coefficient})
        atoms: set[Atom] = {a for a in term.atoms() if isinstance(a, (Lane, ProgramId, LoopIndex))}
        apart = []
        for known, part in parts:
            if known & atoms:
                atoms, term = atoms | known, term + part
            else:
                apart.append((known, part))
        parts = [*apart, (atoms, term)]
    return [part for _, part in parts]


def _values(expr: Expr, ranges: Mapping[Atom, int]) -> frozenset[int] | None:
    """All values of ``expr``; None where it cannot be computed, or there are too many."""
    found = frozenset({0})
    for part in _parts(expr):
        own = _of_part(part, tuple((atom, extent) for atom, extent in ranges.items() if atom in part.atoms()))
        if own is None or len(found) * len(own) > _VALUES:
            return None
        found = frozenset(a + b for a in found for b in own)
    return found


@lru_cache(maxsize=256)
def _of_part(part: Expr, extents: tuple[tuple[Atom, int], ...]) -> frozenset[int] | None:
    """The same of a part whose indices, with these extents, belong together. What other accesses and other tiles ask again
    is kept."""
    ranges = dict(extents)
    if len(part.terms) == 1:
        ((monomial, coefficient),) = part.terms.items()
        if len(monomial) == 1 and isinstance(monomial[0], Opaque) and len(monomial[0].args) == 2:
            # A division of an index of many values by a number.
            op, (argument, by) = monomial[0].op, monomial[0].args
            inner = _values(argument, ranges) if by.value and op in OPERATIONS else None
            if inner is not None:
                return frozenset(int(coefficient * OPERATIONS[op](value, by.value)) for value in inner)
    if prod(ranges.values()) > _POINTS:
        return None
    columns = _at_all((part,), ranges)
    return None if columns is None else frozenset(map(int, columns[0]))


def _factored(values: Iterable[int]) -> tuple[list[tuple[Size, Size]], list[int]]:
    """``values`` as digits, smallest stride first, and the values that no digit tells."""
    digits: list[tuple[Size, Size]] = []
    left = sorted(values)
    while len(left) > 1:
        stride = left[1] - left[0]
        count = next((i for i in range(1, len(left)) if left[i] - left[i - 1] != stride), len(left))
        heads = left[::count]
        if len(left) % count or any(left[i] != heads[i // count] + i % count * stride for i in range(len(left))):
            break
        digits.append((stride, count))
        left = heads
    return digits, left


def _merged(digits: Iterable[tuple[Size, Size]]) -> tuple[tuple[Size, Size], ...]:
    """``digits`` with those that count on where another ends put together, which is how they compare whatever the tile."""
    merged = [(stride, extent) for stride, extent in digits if extent != 1 and stride != 0]
    again = True
    while again:
        again = False
        for i, (stride, extent) in enumerate(merged):
            nexts = [j for j, (further, _) in enumerate(merged) if j != i and lift(further) == lift(stride) * extent]
            if nexts:
                merged[i] = stride, simplify(lift(extent) * merged[nexts[0]][1])
                del merged[nexts[0]]
                again = True
                break
    return tuple(sorted(merged, key=lambda digit: (str(lift(digit[0])), str(lift(digit[1])))))


def _clipped(launch: Launch, access: Access, reach: _Reach) -> _Reach:
    """``reach`` without what lies beyond the tensor where a block pointer or descriptor cuts that off."""
    tensor = launch.tensor(access.base)
    if not access.checked or tensor is None or tensor.shape is None or tensor.strides is None:
        return reach
    sizes = {lift(stride): extent for stride, extent in zip(tensor.strides, tensor.shape)}
    digits = []
    for stride, extent in reach.digits:
        reached, size = concrete(extent), concrete(sizes.get(lift(stride)))
        digits.append((stride, min(reached, size) if reached is not None and size is not None else extent))
    return _Reach(tuple(digits), reach.starts)
