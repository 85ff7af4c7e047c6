"""What torch makes of its operations where it was told to take deterministic algorithms alone (``torch.use_deterministic_algorithms``).

Memory that ATen asks for by ``at::empty`` is filled first, so that nothing hangs on what was there (``fill_uninitialized_memory``).
Windows with gaps are not left to cuDNN (``ConvParams::use_cudnn``): ATen copies them to columns, image by image, and multiplies these
(``slow_conv_dilated``), or multiplies first and then sums up columns (``slow_conv_transpose``).
"""

from __future__ import annotations

import math

from kernlint.cost.convolutions import Convolution, convolution_of
from kernlint.records import replace
from kernlint.workload import Storage, TorchOp

#: What is written to memory of ``at::empty``, by its kind and by name; the results of other operations are made without it.
_FILLED_FIRST = frozenset(
    "fill copy transpose cast norm abs batch_norm hardtanh huber_loss max_pool3d smooth_l1_loss".split()
)


def steps_of(op: TorchOp) -> tuple[TorchOp, ...]:
    """The operations that ``op`` is made of, one at least."""
    asked = replace(op, dims={name: value for name, value in op.dims.items() if name != "deterministic"})
    steps: tuple[TorchOp, ...] = () if op.kind == "alloc" else (asked,)
    fresh = bool({op.kind, op.name} & _FILLED_FIRST) and not op.name.endswith("_") and op.name != "setitem"
    convolution = convolution_of(op) if op.kind == "conv" and op.writes else None
    if convolution is not None:
        fresh = convolution.dilated or (convolution.by_channel and not convolution.transposed)
        steps = _by_columns(asked, convolution) if convolution.dilated else steps
    return (_filling(op), *steps) if fresh or not steps else steps


def _filling(op: TorchOp) -> TorchOp:
    """Of what a loss sums up there is as much as it reads of one tensor."""
    filled = op.reads[:1] if op.kind == "reduce" and op.writes and op.writes[0].numel == 1 else op.writes
    return replace(op, name="empty", kind="fill", reads=(), writes=filled, flops=0, dims={})


def _by_columns(op: TorchOp, one: Convolution) -> tuple[TorchOp, ...]:
    """The copies between images and columns, one of these for each window, and the product with the filters."""
    image, weight, result = op.reads[0], op.reads[1], op.writes[0]
    images, channels, *extents = (image if one.transposed else result).extents or (1, 1)
    within, depth = channels // one.groups, one.taps * (one.outer if one.transposed else one.inner)
    shape = (images, one.groups * depth, math.prod(extents))
    columns = replace(image, name="columns", shape=shape, strides=None, storage=Storage(-1, "columns"), offset=0)
    product = replace(op, name="matmul", kind="matmul", dims={"batch": images * one.groups, "n": shape[2]})
    copies = replace(op, name="unfold", kind="copy", flops=0, dims={"launches": images, "taps": one.taps})
    if one.transposed:
        product = replace(
            product, reads=(weight, image), writes=(columns,), dims={**product.dims, "m": depth, "k": within}
        )
        return product, replace(copies, reads=(columns,), dims={**copies.dims, "tried": _tried(op)})
    product = replace(product, reads=(weight, columns), dims={**product.dims, "m": within, "k": depth})
    return replace(copies, reads=(image,), writes=(columns,)), product


def _tried(op: TorchOp) -> int:
    """Places of columns that an element of the result looks at for its share: whether a tap meets it, it finds out at each
    (``col2im``)."""
    stride, gap = op.dims.get("stride", 1), op.dims.get("dilation", 1)
    return math.prod(-(-((taps - 1) * gap + 1) // stride) for taps in (op.reads[1].extents or (1, 1))[2:])
