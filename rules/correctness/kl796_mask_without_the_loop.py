from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.records import dataclass, replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.bounds import followed, sizes_told
from kernlint.rules.proofs.iteration_domain import Site, samples, sites, symbols_of
from kernlint.rules.proofs.whole_tiles import whole_tiles
from kernlint.workload import Launch, Span, Workload
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, ProgramId, Size, ceildiv, simplify


class MaskWithoutTheLoop(Rule):
    code = "KL796"
    name = "mask-without-the-loop"
    severity = "error"
    summary = "an access moves on with a loop or the program by whole tiles, but its mask keeps testing the first tile"
    bare = True
    what_it_does = """
        Finds accesses in a loop that walks a length in tiles (`for i in range(0, n, BLOCK)`), or in a grid of as many programs as
        it has tiles, whose address moves by a tile each time while the mask compares the index without it with the same length
        (`mask=lane < n`).
        """
    why = """
        The mask holds for all lanes from the first tile on, so that the last, partial tile reads or writes past the end: of the
        row, into what another program writes, or of the tensor.
        """
    when_not = """
        Lengths that are multiples of the tile: by a check of the program, or by the sizes in view.
        """
    fix_safety = "No automatic fix: the value that is stored may lack the step too."
    evidence = """
        A rebuilt report of a serving engine: each tile after the first repeats its values and writes past its segment (Triton's
        interpreter shows both).
        """
    references = ("https://github.com/vllm-project/vllm/issues/15908",)

    bad = """
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            lane = tl.arange(0, BLOCK)
            for i in range(0, n, BLOCK):
                v = tl.load(x + i + lane, mask=lane < n)
                tl.store(y + i + lane, v * 2.0, mask=i + lane < n)

        def scale(x):
            y = torch.empty_like(x)
            kernel[(1,)](x, y, x.numel(), BLOCK=1024)
            return y
        """
    good = bad.replace("mask=lane < n", "mask=i + lane < n")
    example = "v = tl.load(x + i + lane, mask=lane < n)"
    use_instead = "v = tl.load(x + i + lane, mask=i + lane < n)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.distinct_launches():
            for site in sites(launch.kernel):
                for stuck in _stuck(context.workload, launch, site):
                    place = launch.kernel.name, site.access.span
                    if place in seen:
                        continue
                    seen.add(place)
                    yield self.finding(
                        f"the address into `{site.access.base}` moves on with {stuck.walk}, the "
                        f"index that its mask bounds by {_named(stuck.bound)} does not",
                        site.access.span,
                        launch.kernel.name,
                        (Evidence(f"the last tile of {stuck.tile} is partial{stuck.where}", stuck.span),),
                        at_any_size=stuck.proven,
                        severity=self.severity if stuck.proven and not context.workload.bare else "warning",
                    )


@dataclass(frozen=True)
class _Stuck:
    """The mask bounds an index by ``bound`` that does not move with what ``walk`` names, the loop or grid at ``span`` that walks
    that length in tiles of ``tile``; ``proven`` where the last tile is known to be partial, ``where`` says at which sizes."""

    walk: str
    span: Span
    bound: Expr
    tile: int
    proven: bool
    where: str


def _named(bound: Expr) -> str:
    return str(bound) if bound.is_followed else "a length that the kernel loads"


def _stuck(workload: Workload, launch: Launch, site: Site) -> Iterator[_Stuck]:
    access = site.access
    if access.offset is None or not access.mask or access.checked or site.masked or not followed(launch):
        return
    for left, right in access.mask:
        dims = [a for a in left.atoms() if isinstance(a, Lane)]
        if len(dims) != 1 or any(isinstance(a, (ProgramId, LoopIndex)) for a in left.atoms()):
            continue
        lane = dims[0]
        tile = access.shape[lane.dim] if lane.dim < len(access.shape) else 1
        if left != Expr.atom(lane) or tile < 2:
            continue
        for walk, span, atom, extent in _walks(launch, site):
            walks = extent is not None and simplify(ceildiv(right, tile)) == simplify(extent)
            if walks and lane.dim in whole_tiles(access, atom) and atom not in right.atoms():
                if any(atom in inner.atoms() and lane in inner.atoms() for pair in access.mask for inner in pair):
                    continue  # another bound of the mask moves with it
                yield from _partial(workload, launch, _Stuck(walk, span, right, tile, False, ""))


def _walks(launch: Launch, site: Site) -> Iterator[tuple[str, Span, Atom, Size | None]]:
    """What goes over a length in tiles: the loops around ``site`` and the axes of the grid, with their indices and extents."""
    for loop in site.loops:
        yield f"the loop at line {loop.span.line}", loop.span, LoopIndex(loop.id), loop.trip
    for axis, extent in enumerate(launch.grid):
        yield f"program axis {axis}", launch.span, ProgramId(axis), extent


def _partial(workload: Workload, launch: Launch, stuck: _Stuck) -> Iterator[_Stuck]:
    """``stuck`` where the last tile of its bound is, or may be, partial."""
    bound, tile = stuck.bound, stuck.tile
    if bound.value is not None:
        if bound.value > tile and bound.value % tile:
            yield replace(stuck, proven=True)
        return
    if not bound.is_followed:
        # A length that the kernel loads may be any.
        yield replace(stuck, proven=True, where=" wherever the length that is loaded is no multiple of it")
        return
    for sizes in samples(workload, symbols_of(bound), launch):
        number = bound.evaluate(sizes)
        if number is not None and number > tile and number % tile:
            yield replace(stuck, where=f" where {sizes_told(sizes)}")
            return
