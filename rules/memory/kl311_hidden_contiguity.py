from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.workload import Expr, Lane, Load, Store, concrete
from kernlint.workload.access import Access
from kernlint.workload.expr import Opaque

_SECTOR_BYTES = 32
#: Smaller tiles stay in the L1 until the lanes beside come to use the rest of a sector.
_TILE_BYTES = 65_536


class HiddenContiguity(Rule):
    code = "KL311"
    name = "hidden-contiguity"
    summary = "a division hides from the compiler which axis of a tile is contiguous"
    what_it_does = """
        Finds large two-dimensional tiles whose rows are neighbours in memory, but by an index that a `//` or `%` by an odd number
        has gone through, while the columns are far apart.
        """
    why = """
        The compiler lays lanes along the axis that it can prove contiguous. Through a division by a number that it cannot prove a
        multiple of anything it can prove nothing, and takes the last axis: each lane then reads a sector of its own, four bytes
        at a time, and the neighbours in it are fetched again when their turn comes.
        """
    when_not = """
        Tiles of less than 64 KB, which the L1 holds. Divisors that are multiples of 16, or compile-time multiples of a vector,
        which the compiler follows.
        """
    fix_safety = "Safe: the same elements by another index."
    evidence = """
        Triton 3.9, compiled for sm_90: the kernel below gets the layout `order = [1, 0]`, 32-bit loads, and, with its 256 x 256
        tile on 8 warps, 2,568 bytes of spilled registers a thread. RTX 4090: 86.5 ms where PyTorch takes 10.0 ms
        (`docs/labels.md`, the sum over a dimension).
        """

    bad = """
        @triton.jit
        def sum_middle(x, y, R, inner, total, BS: tl.constexpr, BR: tl.constexpr):
            s = tl.program_id(0) * BS + tl.arange(0, BS)
            r = tl.program_id(1) * BR + tl.arange(0, BR)
            outer = s // inner
            base = outer * R * inner + (s - outer * inner)
            mask = (s < total)[:, None] & (r < R)[None, :]
            v = tl.load(x + base[:, None] + r[None, :] * inner, mask=mask, other=0.0)
            tl.atomic_add(y + s, tl.sum(v, axis=1), mask=s < total)

        """
    good = """
        @triton.jit
        def sum_middle(x, y, R, inner, BI: tl.constexpr, BR: tl.constexpr):
            i = tl.program_id(0) * BI + tl.arange(0, BI)
            o = tl.program_id(1)
            acc = tl.zeros((BI,), tl.float32)
            for start in range(0, R, BR):
                r = start + tl.arange(0, BR)
                mask = (r < R)[:, None] & (i < inner)[None, :]
                acc += tl.sum(tl.load(x + o * R * inner + r[:, None] * inner + i[None, :], mask=mask, other=0.0), axis=0)
            tl.store(y + o * inner + i, acc, mask=i < inner)

        """
    launch = """grid = (triton.cdiv(y.numel(), 256), triton.cdiv(x.shape[1], 128))
                sum_middle[grid](x, y, x.shape[1], x.shape[2], y.numel(), BS=256, BR=128, num_warps=8)"""
    good_launch = "sum_middle[(triton.cdiv(x.shape[2], 128), x.shape[0])](x, y, x.shape[1], x.shape[2], BI=128, BR=16)"
    makes = "y = torch.zeros(x.shape[0], x.shape[2], device=x.device)"
    good_makes = "y = torch.empty(x.shape[0], x.shape[2], device=x.device)"
    inputs = "torch.randn(32, 4096, 4095)"
    example = "outer = s // inner\nx + (outer * R * inner + s - outer * inner)[:, None] + r[None, :] * inner"
    use_instead = "x + tl.program_id(1) * R * inner + r[:, None] * inner + i[None, :]"

    def check(self, context: Context) -> Iterable[Finding]:
        if not context.device.is_nvidia:
            return
        seen = set()
        for launch in context.launches():
            for access in launch.kernel.nodes((Load, Store)):
                assert isinstance(access, (Load, Store))
                divisor = _hidden_by(access)
                if divisor is None or access.span in seen or launch.autotuned or launch.kernel.assumed:
                    continue
                seen.add(access.span)
                kernel = launch.kernel.name
                name = launch.name_of(access.base)
                apart = abs(concrete(access.stride(1)) or 0)
                tile = " x ".join(map(str, access.shape))
                yield self.finding(
                    f"the {tile} tile of `{name}` in `{kernel}` is contiguous along an axis that a division by {divisor} hides",
                    access.span,
                    kernel,
                    (
                        Evidence(
                            f"rows of the tile are 1 element apart but for the jumps of // {divisor}, columns {apart}",
                            access.span,
                        ),
                        Evidence(f"launched with tiles of {access.elements * access.dtype.bytes:,} bytes", launch.span),
                    ),
                    Change(
                        None,
                        f"The compiler cannot see that neighbouring rows of the tile are neighbours in memory, lays the lanes along the "
                        f"columns, {apart} elements apart, and moves a sector of {_SECTOR_BYTES} bytes for each {access.dtype.bytes} "
                        "that a lane wants.",
                        "Give the axes that were divided apart a grid axis each, so that no division stands in the address.",
                        f"Take the outer index from a grid axis of its own, let one `tl.arange` run along the contiguous axis as the last "
                        f"axis of the tile, and keep the tile at line {access.span.line} at 64 values per thread or less.",
                        priced=False,
                    ),
                )


def _hidden_by(access: Access) -> int | None:
    """The divisor that hides the contiguous first axis of a tile; None where nothing does."""
    if len(access.shape) != 2 or min(access.shape) < 2 or access.offset is None:
        return None
    size = access.dtype.bytes
    rows, columns = concrete(access.stride(0)), concrete(access.stride(1))
    if access.elements * size < _TILE_BYTES or rows is None or abs(rows) != 1 or columns is None:
        return None
    if abs(columns) * size < _SECTOR_BYTES or access.offset.coefficient(Lane(1)) is None:
        return None
    divisors = _divisors(access.offset)
    if access.offset.coefficient(Lane(0)) is not None or not divisors:
        return None
    # What the compiler can prove of a multiple reaches as far as its largest power of two.
    hidden = all(d > 0 and d % 16 and (d & -d) * size < 16 for d in divisors)
    return min(divisors) if hidden else None


def _divisors(offset: Expr) -> set[int]:
    """What indices of the first axis are divided by; 0 stands for one that is not known."""
    return {
        concrete(atom.args[1]) or 0
        for atom in offset.atoms()
        if isinstance(atom, Opaque) and atom.op in ("floordiv", "mod") and Lane(0) in atom.args[0].atoms()
    }
