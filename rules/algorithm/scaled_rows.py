"""Matrix products written as sums of rows, each times one weight: ``acc += tl.load(x + k * N + lanes) * tl.load(w + o * K + k)``."""

from __future__ import annotations

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.algorithm.convolution import DirectConvolution, channel_pairs, innermost, measured
from kernlint.rules.algorithm.outer_product import is_written_so
from kernlint.rules.finding import Context
from kernlint.rules.proofs.source_text import node_at
from kernlint.workload import Atomic, Compute, Launch, LoopIndex, Reduce, concrete

#: The least extent of a matrix that tensor cores take without padding.
_LEAST = 16


@dataclass(frozen=True)
class ScaledRows:
    """A kernel whose programs add up rows of a matrix, each times a scalar weight of their output row.

    ``shape`` has the extents as those of a convolution with one tap: output rows are its channels, the elements of a row its
    pixels. ``product`` and ``total`` are the multiplication and the sum.
    """

    shape: DirectConvolution
    product: Compute
    total: Compute


def scaled_rows(step: Launch) -> ScaledRows | None:
    """The matrix product that ``step`` makes of rows and scalars; None where that is not proven.

    The proof, from offsets: the innermost loop moves a tile and a scalar, from row to row without overlap; the output row moves the
    scalar alone, so that other programs read the same rows. That the two are multiplied says only the source
    (`is_multiplied`).
    """
    kernel = step.kernel
    if not kernel.complete or step.autotuned or kernel.dots() or any(True for _ in kernel.walk((Atomic, Reduce))):
        return None
    for loops, body in innermost(kernel.body, ()):
        summed = loops[-1:]  # a loop around it that carries nothing may go through the output rows
        pairs = channel_pairs(summed, body)
        wide = [node for node in body if isinstance(node, Compute) and node.kind != "cast"]
        if any(loop.carried for loop in loops[:-1]) or len(pairs) != 1 or len(wide) != 2:
            continue
        x, w = pairs[0]
        if any(node.kind != "arith" or node.elements != x.elements for node in wide):
            continue
        found = measured(step, summed, pairs)
        if found is not None and found.store.depends >= {x.id, w.id} and _is_matrix(found):
            return ScaledRows(found, *wide)
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


def is_multiplied(context: Context, found: ScaledRows) -> bool:
    """Whether the source multiplies the row by the weight and adds the product up."""
    (loop,) = found.shape.loops
    scope = node_at(context, loop.span, cst.For)
    return scope is not None and is_written_so(context, scope, found.product, found.total)
