"""Literals of a grid that stand for the same block as an argument of the launch: ``kernel[(triton.cdiv(n, 64),)](x, n, 64)``.

Nothing in such a program ties the two numbers together, so a block can only be changed where both are. Which literals
belong together is found as people find it: by what changes when one of them does.
"""

from __future__ import annotations

from collections.abc import Callable

from kernlint.interpret.edits import Edits
from kernlint.records import replace
from kernlint.rules.finding import Context
from kernlint.rules.proofs.counterparts import counterpart
from kernlint.rules.proofs.flat_grid_literals import factor_literals, takes_programs_apart
from kernlint.workload import Access, Launch, ProgramId, Size, Span, Workload, concrete
from kernlint.workload import expr as ex
from kernlint.workload.span import Nest


def joined(context: Context, launch: Launch) -> Launch:
    """``launch`` with the literals of its grid beside those of the constexprs that set the same block."""
    if launch.grid_follows:
        return launch
    literals = dict(launch.literals)
    blocks = {
        name: block
        for name, block in launch.constexprs.items()
        if name in literals
        and isinstance(block, int)
        and not isinstance(block, bool)
        and block in launch.numbers.values()
    }
    for name, block in blocks.items():
        axis = _axis(context, launch, name, block)
        if axis is not None:
            literals[name] += tuple(
                span
                for span, number in launch.numbers.items()
                if number == block
                and span not in literals[name]
                and not _is_of_another(context, launch, span)
                and _counts_blocks(context, launch, span, axis, block)
            )
    if blocks and takes_programs_apart(launch):
        for name, span in factor_literals(context, launch, blocks).items():
            literals[name] = tuple(dict.fromkeys((*literals[name], span)))
    return replace(launch, literals=literals)


def _is_of_another(context: Context, launch: Launch, literal: Span) -> bool:
    """Whether ``literal`` stands in the expression of another launch, which says nothing to this one."""
    around = context.workload.once(launches_by_place).around(literal)
    return any(not whole.contains(launch.span) for whole in around)


def launches_by_place(workload: Workload) -> Nest[Span]:
    """Where the expressions stand that launch."""
    return Nest((span, span) for span in dict.fromkeys(launch.span for launch in workload.launches()))


def _axis(context: Context, launch: Launch, name: str, block: int) -> int | None:
    """The axis of the grid whose programs the kernel spaces by the constexpr ``name``; None where there is no such one,
    or the grid follows from ``name`` as it is."""
    other = _changed(context, launch, dict.fromkeys(launch.literals[name], 2 * block))
    if other is None or other.grid != launch.grid:
        return None
    before, after = _spacing(launch), _spacing(other)
    axes = {axis for place, axis in before if before[place, axis] != after.get((place, axis))}
    return axes.pop() if len(axes) == 1 else None


def _spacing(launch: Launch) -> dict[tuple[Span, int], Size]:
    """By how many elements the programs of each axis are apart in each access of the kernel."""
    found: dict[tuple[Span, int], Size] = {}
    for access in launch.kernel.nodes(Access):
        for axis in range(len(launch.grid)):
            apart = access.offset.coefficient(ProgramId(axis)) if access.offset is not None else None
            if apart is not None and apart != ex.lift(0):
                found[access.span, axis] = apart
    return found


def _counts_blocks(context: Context, launch: Launch, literal: Span, axis: int, block: int) -> bool:
    """Whether ``literal`` is what divides a size into the blocks of this axis, and nothing else: the number of programs
    is the size divided by it for other values too, and the rest of the launch stays."""

    def extent(value: int) -> Size | None:
        other = _changed(context, launch, {literal: value})
        if other is None or (other.arguments, other.constexprs) != (launch.arguments, launch.constexprs):
            return None
        same = all(a == b for i, (a, b) in enumerate(zip(other.grid, launch.grid)) if i != axis)
        return other.grid[axis] if same else None

    size = extent(1)
    if size is None or size == launch.grid[axis]:
        return False
    counts: dict[int, Size | None] = {block: launch.grid[axis]}
    counts |= {value: extent(value) for value in (block + 1, 2 * block)}

    def divided_by(divide: Callable[[Size, Size], Size]) -> bool:
        return all(count == divide(size, value) for value, count in counts.items())

    if divided_by(ex.ceildiv):
        return True
    # `(n + 63) // 64` looks like `n // 64` where n + 63 is a multiple: the launch must know the size itself.
    number = concrete(size)
    return number is not None and number % block == 0 and divided_by(ex.floordiv) and number in _sizes(launch)


def _sizes(launch: Launch) -> set[int | None]:
    """The numbers among the arguments and the extents of the tensors."""
    sizes: set[int | None] = set()
    for name, value in launch.arguments.items():
        tensor = launch.tensor(name)
        if tensor is not None:
            sizes |= {concrete(extent) for extent in (*(tensor.shape or ()), tensor.numel)}
        elif isinstance(value, int):
            sizes.add(value)
    return sizes


def _changed(context: Context, launch: Launch, literals: dict[Span, int]) -> Launch | None:
    """``launch`` in the program with these literals."""
    return counterpart(context, context.variant.then(Edits(literals=frozenset(literals.items()))), launch)
