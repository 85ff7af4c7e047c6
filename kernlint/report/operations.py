"""Bytes and operations of a step, for people who want to see them; the cost model counts on its own."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.model import Traffic
from kernlint.records import dataclass
from kernlint.workload import Branch, Compute, Dot, Dtype, Launch, Loop, Node, Reduce, Scan, Step, Tensor, TorchOp

#: Kinds of torch calls that tensor cores answer when their operands are of a type they take.
_PRODUCTS = frozenset({"matmul", "attention", "conv", "rnn"})

#: The vector units, as opposed to the tensor cores fed with a type.
FMA = "fma"


@dataclass(frozen=True)
class Operations:
    """What one run of a step moves and computes; a field is None where a size is not known.

    ``touched_bytes`` are its distinct bytes, ``moved_bytes`` what it asks of L2 in whole sectors, ``flops`` its
    operations (a multiply-add counts as two, on operands of any type). ``unit`` is what does most of them: ``fma``, or
    the type that tensor cores are fed with (``int8``, ``tf32`` ...), empty where there are none.
    """

    touched_bytes: float | None = 0.0
    moved_bytes: float | None = 0.0
    flops: float | None = 0.0
    unit: str = ""


def operations(step: Step) -> Operations:
    """The :class:`Operations` of one run of ``step``; host steps move and compute nothing.

    Of a launch: bytes from :mod:`kernlint.cost.traffic`; operations of its dots, its floating-point arithmetic (one an
    element, special functions too), reductions and scans, over all programs and iterations. Index arithmetic and casts
    do not count. A torch call is taken to read and write each of its tensors once; of a gather only the rows it takes
    are read.
    """
    if isinstance(step, Launch):
        return _of_launch(step)
    return _of_torch(step) if isinstance(step, TorchOp) else Operations()


def _of_launch(launch: Launch) -> Operations:
    moved = traffic(launch)
    touched = moved.footprint_bytes
    flops = _flops(launch.kernel.body, 1.0, moved) * moved.programs
    dots = launch.kernel.dots()
    unit = FMA if flops else ""
    if dots:
        dot = max(dots, key=lambda d: d.flops)
        unit = _tensor_unit((dot.a.dtype, dot.b.dtype), dot.precision != "ieee")
    return Operations(touched if math.isfinite(touched) else None, moved.loaded_bytes + moved.stored_bytes, flops, unit)


def _flops(body: tuple[Node, ...], executions: float, moved: Traffic) -> float:
    """Operations of one program that executes ``body`` so often; the arms of a branch share its executions evenly."""
    total = 0.0
    for node in body:
        if isinstance(node, Dot):
            total += node.flops * executions
        elif isinstance(node, Compute):
            if node.kind != "cast" and node.dtype.is_float:
                total += node.elements * executions
        elif isinstance(node, (Reduce, Scan)):
            total += math.prod(node.shape) * executions
        elif isinstance(node, Loop):
            total += _flops(node.body, executions * moved.trips.get(node.id, 1.0), moved)
        elif isinstance(node, Branch):
            total += sum(_flops(arm, executions / len(node.arms), moved) for arm in node.arms)
    return total


def _of_torch(op: TorchOp) -> Operations:
    if op.kind == "alloc":
        return Operations()
    read, written = _bytes(op.reads), _bytes(op.writes)
    if read is not None and written is not None and op.kind == "gather":
        indices = _bytes(t for t in op.reads if t.dtype is not None and t.dtype.is_integer) or 0.0
        read = min(read, written + indices)
    both = None if read is None or written is None else read + written
    unit = FMA if op.flops else ""
    if op.flops and op.kind in _PRODUCTS:
        # torch multiplies fp32 on the FMA units unless told otherwise; cuDNN convolves in TF32.
        unit = _tensor_unit([t.dtype for t in op.reads[:2]], bool(op.dims.get("tf32")) or op.kind == "conv")
    return Operations(both, both, None if op.flops is None else float(op.flops), unit)


def _tensor_unit(operands: Iterable[Dtype | None], tf32: bool) -> str:
    """The unit that multiplies ``operands``: their widest type, where tensor cores take it."""
    widest = max((dtype for dtype in operands if dtype is not None), key=lambda dtype: dtype.bits, default=None)
    if widest is None or widest.bits > 32 or widest.name == "int32":
        return FMA
    if widest.bits == 32:
        return "tf32" if tf32 else FMA
    return "fp8" if widest.is_fp8 else widest.name


def _bytes(tensors: Iterable[Tensor]) -> float | None:
    total = 0.0
    for tensor in tensors:
        if tensor.nbytes is None:
            return None
        total += tensor.nbytes
    return total
