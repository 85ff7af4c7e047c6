from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.headroom.causes import Cause
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.memory.mixed_radix import digits_of, unflattened
from kernlint.rules.proofs.indices import Indices, program_indices
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import Access, Expr, Launch, Load, Loop, LoopIndex, Store, concrete
from kernlint.workload.expr import Lane

#: The unit in which L2 and memory answer.
_SECTOR_BYTES = 32


class UncoalescedAccess(Rule):
    code = "KL304"
    name = "uncoalesced-access"
    operator = "generate"
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
    evidence = """
        H100, 4096 x 4096 halves: a transposing copy with 1 x 1024 tiles takes 280 us, with 64 x 64 tiles 25 us (`tile_copy`);
        8192 x 2048 fp32 column sums with one column per program 121 us (`col_reduce`; both in
        `calibration/facts/h100-micro.csv`). Pattern row PERF-037.
        """

    bad = """
        @triton.jit
        def transpose(x, y, rows, columns, BLOCK: tl.constexpr):
            column = tl.program_id(0)
            row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
            value = tl.load(x + row * columns + column, mask=row < rows)
            tl.store(y + column * rows + row, value, mask=row < rows)
        """
    good = (
        bad.replace("column = tl.program_id(0)", "column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
        .replace("x + row * columns + column, mask=row < rows)", "x + row[:, None] * columns + column[None, :])")
        .replace(
            "y + column * rows + row, value, mask=row < rows)", "y + column[None, :] * rows + row[:, None], value)"
        )
    )
    launch = "transpose[(4096, 4)](x, y, 4096, 4096, BLOCK=1024)"
    good_launch = "transpose[(64, 64)](x, y, 4096, 4096, BLOCK=64)"
    makes = "y = torch.empty(4096, 4096, device=x.device, dtype=x.dtype)"
    inputs = "torch.randn(4096, 4096, dtype=torch.float16)"
    example = "column = tl.program_id(0)\ntl.load(x + rows * stride + column)"
    use_instead = (
        "columns = tl.program_id(0) * BC + tl.arange(0, BC)\ntl.load(x + rows[:, None] * stride + columns[None, :])"
    )

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.launches():
            if launch.autotuned or not launch.kernel.complete or launch.kernel.dots():
                continue
            flat = digits_of(launch) is not None
            apart = unflattened(launch)
            found = list(_strided(apart, program_indices(apart)))
            for cause in causes_at(context, launch.kernel.name) if found else ():
                yield self._finding(launch, found, cause, flat)

    def _finding(self, launch: Launch, found: list[_Strided], cause: Cause | None, flat: bool) -> Finding:
        access, kernel = found[0].access, launch.kernel.name
        name = launch.name_of(access.base)
        verb = "loads" if isinstance(access, Load) else "stores" if isinstance(access, Store) else "updates"
        step, size = found[0].stride * access.dtype.bytes, access.dtype.bytes
        what = f"`{kernel}` {verb} `{name}` with neighbouring lanes {step} bytes apart"
        change = Change(
            None,
            f"{what}, so each {_SECTOR_BYTES}-byte sector is moved for {min(size, _SECTOR_BYTES)} bytes of use; the "
            f"{_SECTOR_BYTES // size - 1} neighbours in it belong to other programs.",
            f"Give each program a 2-D tile whose inner axis runs over {_SECTOR_BYTES // size} or more neighbours in `{name}`, so that "
            "every sector is used whole.",
            _IN_DIGITS if flat else _IN_PROGRAMS,
        )
        index = "another digit of the flat index" if flat else "the program index"
        evidence = tuple(
            Evidence(
                f"`{one.access.base}` moves {one.stride} elements per lane, 1 per step of {index}", one.access.span
            )
            for one in found
        )
        return self.finding(what, access.span, kernel, evidence, change, cause)


#: What to do where the index is one that each program fixes, and where it is a digit of one flat index.
_IN_PROGRAMS = (
    "Replace the index that each program fixes by `tl.program_id(...) * WIDTH + tl.arange(0, WIDTH)` in every address and mask, "
    "broadcast against the present lanes, and shrink the grid by as much; where loads and stores run along different axes the "
    "tile is transposed on chip."
)
_IN_DIGITS = (
    "Instead of one flat index, give its axes indices of their own: `tl.program_id(...) * ROWS + tl.arange(0, ROWS)` for the fastest "
    "one, `tl.program_id(...) * WIDTH + tl.arange(0, WIDTH)` for the one that is contiguous in the other tensor, a program id for "
    "each further one. Broadcast both in every address and mask; the tile is transposed on chip."
)


@dataclass(frozen=True)
class _Strided:
    """``access`` moves ``stride`` elements per lane of its fastest axis and one element per step of an index of the programs."""

    access: Access
    stride: int


def _strided(launch: Launch, indices: Indices) -> Iterator[_Strided]:
    """The accesses that waste sectors, the largest tile first; those much smaller than the kernel's main tile not."""
    accesses = list(launch.kernel.walk(Access))
    largest = max((node.elements for node, _ in accesses), default=0)
    for node, loops in accesses:
        if node.offset is None or node.elements < largest or largest == 1:
            continue
        offset = indices.rewrite(node.offset)
        strides = [offset.coefficient(Lane(dim)) for dim, extent in enumerate(node.shape) if extent > 1]
        numbers = [concrete(stride) for stride in strides]
        if any(number is None for number in numbers):
            continue
        fastest = min((abs(number) for number in numbers if number), default=0)
        tensor = launch.tensor(node.base)
        # Where the type is not known it may be a byte.
        size = node.dtype.bytes if tensor is None or tensor.dtype is not None else 1
        if fastest * size < _SECTOR_BYTES or _walked_by_loop(offset, loops, node.dtype.bytes):
            continue
        if any(extent != 1 and offset.coefficient(axis) == 1 for axis, extent in indices.extents.items()):
            yield _Strided(node, fastest)


def _walked_by_loop(offset: Expr, loops: tuple[Loop, ...], size: int) -> bool:
    """Whether a loop of the program comes back to the same sectors."""
    for loop in loops:
        stride = offset.coefficient(LoopIndex(loop.id))
        number = concrete(stride)
        if number is None or 0 < abs(number) * size < _SECTOR_BYTES:
            return True
    return False
