"""The matrix product that takes the place of a convolution: output channels by pixels, summed over channels x taps."""

from __future__ import annotations

from collections.abc import Callable

from kernlint.records import dataclass
from kernlint.workload import Expr, Launch, Load, Loop, Size, Span, Store, Tensor, Workload
from kernlint.workload.expr import ceildiv
from kernlint.workload.kernel import Bounds
from kernlint.workload.steps import map_launch
from kernlint.workload.synthesis import arith, below, cast, dot, from_load, iteration, lane, launch, pid

#: Offset and mask of the [depth, pixels] tile of windows, from the index along the sum and the pixel.
Windows = Callable[[Expr, Expr], tuple[Expr, Bounds]]


@dataclass(frozen=True)
class Convolution:
    """What ``launch`` convolves: ``source`` with ``weight`` to ``out``, in ``loops`` over channels and taps, outermost first.

    ``depth`` = channels x taps, ``channels`` the output channels, ``images`` the batch, ``plane`` the pixels of one output
    plane.
    """

    launch: Launch
    loops: tuple[Loop, ...]
    store: Store
    source: Tensor
    weight: Tensor
    out: Tensor
    depth: int
    channels: int
    images: int
    plane: int


@dataclass(frozen=True)
class GemmTile:
    """Base of the transforms that put such a product in the place of the convolution at ``launch``: each program makes a
    tile of ``rows`` output channels by ``columns`` pixels in steps of ``depth`` products."""

    launch: Span
    rows: int
    columns: int
    depth: int
    num_warps: int

    def __call__(self, workload: Workload) -> Workload:
        return map_launch(workload, self.launch, self._changed)

    def _changed(self, launch: Launch) -> Launch:
        """What becomes of the ``launch``."""
        raise NotImplementedError

    def gemm(self, found: Convolution, x: Load, w: Load, windows: Windows) -> Launch:
        """The launch that does what ``found`` does, which loads ``x`` and ``w``; both operands have the type of the weight."""
        span, m, n, k = found.launch.span, self.rows, self.columns, self.depth
        at = iteration(1) * k
        pixel, channel = pid(0) * n + lane(1), pid(1) * m + lane(0)
        weights = Load(
            2, "weight", w.dtype, (m, k), channel * found.depth + at + lane(1),
            below((channel, found.channels), (at + lane(1), found.depth)), span, 0.0,
        )  # fmt: skip
        gathered = Load(3, "x", x.dtype, (k, n), *windows(at + lane(0), pixel), span, 0.0)
        operands = from_load(weights, 1, span, w.dtype), from_load(gathered, 0, span, w.dtype)
        loop = Loop(
            1, "range", ceildiv(found.depth, k), (gathered, weights, dot(4, m, n, k, *operands, span)), span, None, True
        )
        where = (pid(2) * found.channels + channel) * found.plane + pixel
        out = found.store.dtype
        store = Store(5, "out", out, (m, n), where, below((channel, found.channels), (pixel, found.plane)), span)
        grid: tuple[Size, ...] = (ceildiv(found.plane, n), ceildiv(found.channels, m), found.images)
        arguments = {"x": found.source, "weight": found.weight, "out": found.out}
        body = (loop, arith(m * n, span), cast(m * n, span, out), store)
        return launch("implicit_gemm", body, grid, arguments, found.launch, found.launch.function, self.num_warps)
