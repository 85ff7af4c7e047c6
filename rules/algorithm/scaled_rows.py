"""Matrix products written as sums of rows, each times one weight: ``acc += tl.load(x + k * N + lanes) * tl.load(w + o * K + k)``."""

from __future__ import annotations

from kernlint.records import dataclass
from kernlint.rules.algorithm.convolution import DirectConvolution, measured, scalar_pairs
from kernlint.rules.proofs.sums_of_products import sums
from kernlint.workload import Launch, LoopIndex, concrete
from kernlint.workload.values import Value

#: The least extent of a matrix that tensor cores take without padding.
_LEAST = 16


@dataclass(frozen=True)
class ScaledRows:
    """A kernel whose programs add up rows of a matrix, each times a scalar weight of their output row.

    ``shape`` has the extents as those of a convolution with one tap: output rows are its channels, the elements of a row its
    pixels. ``product`` and ``total`` are the multiplication and the sum.
    """

    shape: DirectConvolution
    product: Value
    total: Value


def scaled_rows(step: Launch) -> ScaledRows | None:
    """The matrix product that ``step`` makes of rows and scalars; None where that is not proven.

    The proof, from offsets: the innermost loop moves a tile and a scalar, from row to row without overlap; the output row moves the
    scalar alone, so that other programs read the same rows.
    """
    for total in sums(step.kernel):
        # What the sum goes on from in a loop around it may be of other rows.
        alone = len(total.nest) == len(total.terms) == 1 and total.start.op != "phi"
        pairs = scalar_pairs(step, total) if alone and not step.autotuned else ()
        found = measured(step, total.nest, pairs) if pairs else None
        if found is not None and found.store.depends >= {load.id for load in pairs[0]} and _is_matrix(found):
            return ScaledRows(found, total.terms[0], total.total)
    return None


def _is_matrix(found: DirectConvolution) -> bool:
    """Whether what the loop walks over are rows (or columns) of a matrix that do not overlap, and each extent suits a tile."""
    (loop,), ((x, _),) = found.loops, found.pairs
    if min(found.depth, found.channels, found.plane) < _LEAST or x.offset is None:
        return False
    if any(isinstance(atom, LoopIndex) and atom.loop != loop.id for atom in x.offset.atoms()):
        return False  # an outer loop goes through the columns or the images
    lane = next(dim for dim, extent in enumerate(x.shape) if extent > 1)
    step, stride = concrete(x.offset.coefficient(LoopIndex(loop.id))), concrete(x.stride(lane))
    if not step or not stride:
        return False
    return abs(step) >= found.plane * abs(stride) or abs(stride) >= found.depth * abs(step)
