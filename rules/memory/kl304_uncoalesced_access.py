"""KL304."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant, tensor_name
from kernlint.rules.memory.mixed_radix import Digits, Unflattened, digits_of, unflattened
from kernlint.rules.proofs.coarsening import Rows, Widened, can_widen, rows_of
from kernlint.rules.proofs.indices import Indices, program_indices
from kernlint.rules.proofs.pricing import cheapest
from kernlint.workload import Access, Expr, Launch, Load, Loop, LoopIndex, ProgramId, Store, concrete
from kernlint.workload.expr import Lane

#: The unit in which L2 and memory answer.
_SECTOR_BYTES = 32
_WIDTHS = (8, 16, 32, 64, 128)
#: Elements of a tile worth trying: 8 to 32 for each of 128 threads, 32 with 256.
_TILES = ((1024, 4), (2048, 4), (4096, 4), (8192, 8))


class UncoalescedAccess(Rule):
    code = "KL304"
    name = "uncoalesced-access"
    category = "memory"
    severity = "warning"
    summary = "neighbouring lanes are a row apart in memory while neighbouring programs are adjacent"
    what_it_does = """
        Finds loads and stores whose fastest tile axis walks memory in steps of at least 32 bytes while an index that is fixed
        in a program (its id, or the quotient or remainder of it) moves the same address by one element: column reductions
        with a program per column, and passes that read along one axis and write along another. The axes may also be digits
        of one flat index (`row = i // columns`, `column = i % columns`).
        """
    why = """
        Memory answers in sectors of 32 bytes. Such an access fetches a sector for each lane and uses 2 or 4 bytes of it; the
        neighbours belong to other programs, so the same sectors cross L2 once for each of them. A store of part of a sector
        is worse: it is merged in L2.
        """
    when_not = (
        "The adjacent index is walked by a loop in the same program (the sector stays in L1). Kernels around tl.dot."
    )
    fix_safety = """
        Safe for elementwise work. A reduction adds its elements in another order. The tile is transposed on chip, through
        shared memory, when the loads run along one axis and the stores along the other.
        """
    evidence = """
        H100, 4096 x 4096 halves: a transposing copy with 1 x 1024 tiles takes 280 us, with 64 x 64 tiles 25 us (`tile_copy`);
        8192 x 2048 fp32 column sums with one column per program 121 us (`col_reduce`; both in
        `calibration/facts/h100-micro.csv`). Pattern row PERF-037.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def transpose(x, y, rows, columns, BLOCK: tl.constexpr):
            column = tl.program_id(0)
            row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
            value = tl.load(x + row * columns + column, mask=row < rows)
            tl.store(y + column * rows + row, value, mask=row < rows)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty(4096, 4096, device=x.device, dtype=x.dtype)
                transpose[(4096, 4)](x, y, 4096, 4096, BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(4096, 4096, dtype=torch.float16)]
        """
    good = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def transpose(x, y, rows, columns, BLOCK: tl.constexpr):
            column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
            value = tl.load(x + row[:, None] * columns + column[None, :])
            tl.store(y + column[None, :] * rows + row[:, None], value)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty(4096, 4096, device=x.device, dtype=x.dtype)
                transpose[(64, 64)](x, y, 4096, 4096, BLOCK=64)
                return y

        def get_inputs():
            return [torch.randn(4096, 4096, dtype=torch.float16)]
        """
    example = "column = tl.program_id(0)\ntl.load(x + rows * stride + column)"
    use_instead = (
        "columns = tl.program_id(0) * BC + tl.arange(0, BC)\ntl.load(x + rows[:, None] * stride + columns[None, :])"
    )

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.launches():
            if launch.autotuned or not launch.kernel.complete or launch.kernel.dots():
                continue
            base, digits = context.variant, digits_of(launch)
            if digits is not None:
                base, launch = base.then(transform=Unflattened(launch.span)), unflattened(launch)
            indices = program_indices(launch)
            found = list(_strided(launch, indices))
            if not found:
                continue
            worst = found[0]
            access, kernel = worst.access, launch.kernel.name
            name = tensor_name(launch.tensor(access.base), access.base)
            verb = "loads" if isinstance(access, Load) else "stores" if isinstance(access, Store) else "updates"
            step, size = worst.stride * access.dtype.bytes, access.dtype.bytes
            used = min(size, _SECTOR_BYTES)
            variant, tile = _best(context, base, launch, indices, worst)
            what = f"`{kernel}` {verb} `{name}` with neighbouring lanes {step} bytes apart"
            change = variant and Change(
                variant,
                f"{what}, so each 32-byte sector is moved for {used} bytes of use; the {_SECTOR_BYTES // size - 1} neighbours in "
                "it belong to other programs.",
                f"Give each program a 2-D tile of {tile} elements whose inner axis runs over neighbours in `{name}`, so that "
                "every sector is used whole.",
                _plan(tile, digits),
            )
            index = "the program index" if digits is None else "another digit of the flat index"
            evidence = tuple(
                Evidence(
                    f"`{one.access.base}` moves {one.stride} elements per lane, 1 per step of {index}",
                    one.access.span,
                )
                for one in found
            )
            yield Finding(self, self.severity, what, access.span, kernel, kernel, evidence, change or None)


def _plan(tile: _Tile, digits: Digits | None) -> str:
    if digits is None:
        return (
            f"Replace the index that each program fixes by `tl.program_id(...) * {tile.width} + tl.arange(0, {tile.width})` "
            "in every address and mask, broadcast against the present lanes, and shrink the grid by as much; where loads "
            "and stores run along different axes the tile is transposed on chip."
        )
    shape = " x ".join(map(str, reversed(digits.extents)))
    return (
        f"Instead of one flat index over {shape} values, give its axes indices of their own: `tl.program_id(...) * {tile.rows} "
        f"+ tl.arange(0, {tile.rows})` for the fastest one, `tl.program_id(...) * {tile.width} + tl.arange(0, {tile.width})` for "
        "the one that is contiguous in the other tensor, a program id for each further one. Broadcast both in every address "
        "and mask; the tile is transposed on chip."
    )


@dataclass(frozen=True)
class _Strided:
    """``access`` moves ``stride`` elements per lane of its fastest axis and one element per step of ``axis``."""

    access: Access
    stride: int
    axis: ProgramId


@dataclass(frozen=True)
class _Tile:
    rows: int
    width: int

    def __str__(self) -> str:
        return f"{self.rows} x {self.width}"


def _strided(launch: Launch, indices: Indices) -> Iterator[_Strided]:
    """The accesses that waste sectors, the largest tile first; those much smaller than the kernel's main tile not."""
    accesses = [(node, loops) for node, loops in launch.kernel.walk(Access)]
    largest = max((node.elements for node, _ in accesses), default=0)  # type: ignore[union-attr]
    for node, loops in accesses:
        assert isinstance(node, Access)
        if node.offset is None or node.elements < largest or largest == 1:
            continue
        offset = indices.rewrite(node.offset)
        strides = [offset.coefficient(Lane(dim)) for dim, extent in enumerate(node.shape) if extent > 1]
        numbers = [None if stride is None else concrete(stride) for stride in strides]
        if any(number is None for number in numbers):
            continue
        fastest = min((abs(number) for number in numbers if number), default=0)
        tensor = launch.tensor(node.base)
        # Where the type is not known it may be a byte.
        size = node.dtype.bytes if tensor is None or tensor.dtype is not None else 1
        if fastest * size < _SECTOR_BYTES or _walked_by_loop(offset, loops, node.dtype.bytes):
            continue
        for axis, extent in indices.extents.items():
            if extent != 1 and offset.coefficient(axis) == 1:
                yield _Strided(node, fastest, axis)


def _walked_by_loop(offset: Expr, loops: tuple[Loop, ...], size: int) -> bool:
    """Whether a loop of the program comes back to the same sectors."""
    for loop in loops:
        stride = offset.coefficient(LoopIndex(loop.id))
        number = None if stride is None else concrete(stride)
        if number is None or 0 < abs(number) * size < _SECTOR_BYTES:
            return True
    return False


def _best(
    context: Context, base: Variant, launch: Launch, indices: Indices, one: _Strided
) -> tuple[Variant | None, _Tile]:
    """The 2-D tile of least predicted time; a change only where the whole kernel can be widened."""
    tiles = {} if not can_widen(launch.kernel) else {
        base.then(transform=Widened(launch.span, one.axis, tile.width, tile.rows, warps)): tile
        for tile, warps in _options(rows_of(launch, indices), one, concrete(indices.extents[one.axis]))
    }  # fmt: skip
    if not tiles:
        return None, _Tile(one.access.elements, _SECTOR_BYTES // one.access.dtype.bytes)
    best = cheapest(context, tiles) or next(iter(tiles))
    return best, tiles[best]


def _options(along: Rows | None, one: _Strided, extent: int | None) -> Iterator[tuple[_Tile, int]]:
    """Tiles with their warps: at least a sector wide, not much wider than the axis."""
    tile = one.access.elements
    for width in _WIDTHS:
        if width * one.access.dtype.bytes < _SECTOR_BYTES or (extent is not None and width >= 2 * extent):
            continue
        for elements, warps in _TILES:
            rows = elements // width
            if along is None or along.step is None:
                # Nothing steps along the rows: the tile has to hold all of them.
                whole = tile if along is None else 1 << (along.count - 1).bit_length()
                if whole * width == elements:
                    yield _Tile(whole, width), warps
            elif rows <= tile:
                yield _Tile(rows, width), warps
