"""In which order the programs of a matmul-like launch visit the tiles of its output, and the grouped order instead."""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.indices import Indices, program_indices
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.workload import Access, Dot, Launch, Load, Loop, Node, Size, concrete
from kernlint.workload.expr import Atom, Expr, ProgramId, floordiv, lift, minimum, mod
from kernlint.workload.kernel import rewrite


@dataclass(frozen=True)
class Order:
    """Tiles of the output are numbered by ``slow`` (of ``slow_extent``) and ``fast`` (of ``fast_extent``), the latter
    changing from one program to the next; ``slow_load`` reads the operand that only ``slow`` moves, ``fast_load`` the
    other one. ``indices`` are those of the launch."""

    indices: Indices
    slow: ProgramId
    fast: ProgramId
    slow_extent: int
    fast_extent: int
    slow_load: Load
    fast_load: Load


def program_order(launch: Launch, dot: Dot) -> Order | None:
    """The plain order of ``launch``: one index moves operand a only, the other b only. None where program ids are mixed
    in any other way, as a grouped order does, or where the grid has further axes or open extents."""
    indices = program_indices(launch)
    axes = [atom for atom, extent in indices.extents.items() if extent != 1]
    if len(axes) != 2:
        return None
    # Programs start with axis 0 first; of a split axis the remainder counts faster than the quotient.
    split = next((s for s in indices.splits if {s.high, s.low} == set(axes)), None)
    slow, fast = (split.high, split.low) if split is not None else (max(axes, key=_axis), min(axes, key=_axis))
    slow_extent, fast_extent = concrete(indices.extents[slow]), concrete(indices.extents[fast])
    loads = [launch.kernel.load(operand.load) if operand.load is not None else None for operand in (dot.a, dot.b)]
    moved = [_program_axes(load, indices) for load in loads]
    if slow_extent is None or fast_extent is None or (split is None and indices.splits):
        return None
    for first, second in ((0, 1), (1, 0)):
        slow_load, fast_load = loads[first], loads[second]
        if slow_load is not None and fast_load is not None and (moved[first], moved[second]) == ({slow}, {fast}):
            return Order(indices, slow, fast, slow_extent, fast_extent, slow_load, fast_load)
    return None


def tiles_of_wave(order: Order, programs: int, group: int = 1) -> tuple[int, int]:
    """(distinct ``slow`` blocks, distinct ``fast`` blocks) of the first ``programs`` programs, with ``group`` slow blocks
    walked together (1: the plain order)."""
    slow, fast = set(), set()
    for program in range(min(programs, order.slow_extent * order.fast_extent)):
        member, offset = divmod(program, group * order.fast_extent)
        size = min(order.slow_extent - member * group, group)
        slow.add(member * group + offset % size)
        fast.add(offset // size)
    return len(slow), len(fast)


@dataclass(frozen=True)
class GroupedOrder(LaunchChange):
    """The workload with the programs of one launch walking ``group`` blocks of the slow axis together.

    As in Triton's matmul tutorial: ``group_id = pid // (group * fast)``, then down the group's blocks first.
    """

    group: int

    def _changed(self, launch: Launch) -> Launch:
        dots = launch.kernel.dots()
        order = program_order(launch, dots[0]) if dots else None
        if order is None:
            return launch
        program = Expr.atom(ProgramId(0))
        span = self.group * order.fast_extent
        inside = mod(program, span)
        first = lift(floordiv(program, span)) * self.group
        size = minimum(order.slow_extent - first, self.group)
        places: Mapping[Atom, Size] = {
            order.slow: first + mod(inside, size), order.fast: floordiv(inside, size)
        }  # fmt: skip

        def regroup(expr: Expr) -> Expr:
            return order.indices.rewrite(expr).substitute(places)

        def change(node: Node) -> Node:
            if isinstance(node, Access):
                return node.moved(regroup)
            if isinstance(node, Loop) and isinstance(node.trip, Expr):
                return replace(node, trip=regroup(node.trip))
            return node

        kernel = replace(launch.kernel, body=rewrite(launch.kernel.body, change), dims=1)
        return replace(launch, kernel=kernel, grid=(order.slow_extent * order.fast_extent,))


def _axis(atom: ProgramId) -> int:
    return atom.axis


def _program_axes(load: Load | None, indices: Indices) -> set[ProgramId] | None:
    """The program indices of extent above one that move ``load``; None where a program id is left inside a division."""
    if load is None or load.offset is None:
        return None
    offset = indices.rewrite(load.offset)
    found = {atom for atom in offset.atoms() if isinstance(atom, ProgramId)}
    if not offset.is_followed:
        return None
    return {atom for atom in found if indices.extents.get(atom) != 1}
