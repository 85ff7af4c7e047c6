"""What ``tl.histogram`` does."""

from __future__ import annotations

import math

from kernlint.workload import dtype as dt
from kernlint.workload.kernel import Compute, Node, Reduce
from kernlint.workload.span import Span

_LANES = 32


def histogram_steps(shape: tuple[int, ...], bins: int, span: Span) -> tuple[Node, ...]:
    """The work of ``tl.histogram`` of a tile of ``shape`` into ``bins`` bins, from how Triton lowers it.

    For each element a warp takes a ballot of every bit of the value (shift, and, vote), narrows a mask down by the five
    bits of the lane (three instructions each), then for each of the bins that a lane is in charge of by the remaining bits
    (two each), and counts and adds what is left (three). At the end the warps add up their counts in shared memory, as a
    reduction over all lanes does.
    """
    elements = math.prod(shape)
    bits = max(1, math.ceil(math.log2(max(2, bins))))
    lane_bits = min(bits, int(math.log2(_LANES)))
    own = max(1, bins // _LANES)
    operations = 3 * bits + 3 * lane_bits + own * (2 * (bits - lane_bits) + 3)
    step = Compute("arith", elements, dt.INT32, span)
    return (*(step,) * operations, Reduce("sum", (max(_LANES, elements),), 0, False, frozenset(), span))
