"""One atomic for each element into few counters, at indices from memory, and the histogram in the program that replaces it."""

from __future__ import annotations

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.indices import always_run
from kernlint.workload import (
    Access,
    Atomic,
    Expr,
    Kernel,
    Lane,
    Launch,
    Load,
    Loop,
    Node,
    Opaque,
    ProgramId,
    Span,
    Workload,
    concrete,
)
from kernlint.workload.expr import ceildiv, lift, simplify
from kernlint.workload.histogram import histogram_steps
from kernlint.workload.kernel import rewrite
from kernlint.workload.steps import map_launch
from kernlint.workload.synthesis import iteration, lane, pid, power_of_two

#: More bins than that no longer fit a program: four bytes each in shared memory, some in each thread.
_MOST_BINS = 4096
#: The least elements of an execution: a warp.
_LEAST = 32
#: The id of the loop over blocks that comes into the kernel: no node of it has that.
_LOOP_ID = 100_000


@dataclass(frozen=True)
class FewBins:
    """A kernel whose ``atomic`` adds one number for each element at an address that it has read; all that a program adds
    goes to the ``bins`` addresses from ``first`` on. ``axis`` is the grid axis that has no part in ``first``."""

    launch: Launch
    atomic: Atomic
    bins: int
    first: Expr
    axis: int | None


def few_bins(launch: Launch) -> FewBins | None:
    """The counters that ``launch`` adds to; None where another atomic or the old value plays a part, where what is added is
    not one number, or where more addresses than a program can hold may be meant."""
    kernel = launch.kernel
    atomics = kernel.nodes(Atomic)
    plain = [node for node, _ in always_run(kernel, Atomic)]
    if not kernel.complete or launch.autotuned or len(atomics) != 1 or len(plain) != 1 or launch.programs is None:
        return None
    (atomic,) = plain
    if atomic.op != "add" or not atomic.alike or atomic.elements < _LEAST:
        return None
    if not atomic.through or any(
        atomic.id in getattr(node, "depends", ()) for node, _ in kernel.walk() if node is not atomic
    ):
        return None
    tensor = launch.tensor(atomic.base)
    numel = tensor.numel if tensor is not None else None
    place = _window(launch, atomic, numel)
    if numel is None or place is None or place[0] > _MOST_BINS or place[0] < 2:
        return None
    bins, first = place
    free = [
        a for a, size in enumerate(launch.grid) if concrete(size) not in (None, 1) and ProgramId(a) not in first.atoms()
    ]
    axis = max(free, key=lambda a: concrete(launch.grid[a]) or 1) if free else None
    return FewBins(launch, atomic, bins, first, axis)


def _window(launch: Launch, atomic: Atomic, numel: int | None) -> tuple[int, Expr] | None:
    """(How many addresses a program may go to, the first of them): the whole tensor, or its part where the grid index that the
    address moves with divides it into as many."""
    if numel is None:
        return None
    if atomic.offset is None:
        return numel, Expr.constant(0)
    axes = [atom for atom in atomic.offset.atoms() if isinstance(atom, ProgramId)]
    if not axes:
        return numel, Expr.constant(0)
    if len(axes) > 1:
        return None
    (axis,) = axes
    coefficient, extent = atomic.offset.coefficient(axis), concrete(launch.grid[axis.axis])
    bins = concrete(simplify(coefficient)) if coefficient is not None else None
    if bins is None or bins < 1 or extent is None or bins * extent != numel:
        return None
    # The rest of the address is what was read and where in the tile: the loop's or another program's part is none of it.
    rest = atomic.offset - Expr.atom(axis) * bins
    read = all(isinstance(atom, (Opaque, Lane)) for atom in rest.atoms())
    return (bins, Expr.atom(axis) * bins) if read else None


@dataclass(frozen=True)
class CountedBins:
    """The workload with the atomics of one launch counted in each program first, of which each takes ``blocks`` blocks."""

    launch: Span
    blocks: int

    def __call__(self, workload: Workload) -> Workload:
        def change(launch: Launch) -> Launch:
            found = few_bins(launch)
            return launch if found is None else _counted(found, self.blocks)

        return map_launch(workload, self.launch, change)


def _counted(found: FewBins, blocks: int) -> Launch:
    launch, atomic, kernel = found.launch, found.atomic, found.launch.kernel
    bins = power_of_two(found.bins)
    steps = histogram_steps(atomic.shape, bins, atomic.span)

    def spread(body: tuple[Node, ...]) -> tuple[Node, ...]:
        made: list[Node] = []
        for node in body:
            if isinstance(node, Atomic) and node.id == atomic.id:
                made += steps
            elif isinstance(node, Loop):
                made.append(replace(node, body=spread(node.body)))
            else:
                made.append(node)
        return tuple(made)

    body, grid = spread(kernel.body), launch.grid
    if blocks > 1 and found.axis is not None:
        by_block = Expr.substitution({ProgramId(found.axis): pid(found.axis) * blocks + iteration(_LOOP_ID)})

        def move(node: Node) -> Node:
            return node.moved(by_block) if isinstance(node, Access) and node.offset is not None else node

        body = (Loop(_LOOP_ID, "range", blocks, rewrite(body, move), atomic.span, None, True),)
        grid = tuple(simplify(lift(ceildiv(size, blocks))) if a == found.axis else size for a, size in enumerate(grid))
    last = replace(
        atomic, shape=(bins,), offset=found.first + lane(0), mask=((lane(0), lift(found.bins)),), through=frozenset()
    )
    changed = Kernel(kernel.name, (*body, last), kernel.span, kernel.name_span, kernel.file, dims=kernel.dims)
    return replace(launch, kernel=changed, grid=grid, alternatives=())


def loaded_from(found: FewBins) -> Load | None:
    """The load that the index comes from, the first where it comes from several."""
    return next((load for load in found.launch.kernel.loads() if load.id in found.atomic.through), None)
