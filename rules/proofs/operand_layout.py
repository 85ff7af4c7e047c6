"""Where a kernel's operand comes from, and how it can be read in the layout that the tensor cores want."""

from __future__ import annotations

from kernlint.cost.device import Device
from kernlint.interpret.edits import Edits
from kernlint.records import dataclass, replace
from kernlint.rules.finding import Context, Evidence, Variant, tensor_name
from kernlint.rules.proofs.counterparts import find_dot
from kernlint.rules.proofs.dataflow import uses
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.workload import Dot, Dtype, Launch, Operand, Span, Step, Tensor, TorchOp, Workload
from kernlint.workload.kernel import Node

#: Torch calls that only move data: what they return could be read where it already lies.
COPY_KINDS = frozenset({"copy", "transpose"})


@dataclass(frozen=True)
class Remedy:
    """A way to give an operand its K-major layout: ``variant`` of the program, told as ``method`` and ``plan``."""

    variant: Variant
    method: str
    plan: str
    evidence: tuple[Evidence, ...] = ()


def wants_k_major(device: Device, dtype: Dtype) -> bool:
    """Whether the tensor cores read a ``dtype`` operand fast only when it is contiguous along K.

    Hopper's wgmma transposes 16-bit operands on the way from shared memory, not 8-bit or 32-bit ones; Triton then loads
    them without cp.async and shuffles bytes (facts: int8 at 4096^3 122 us K-major, 503 us N-major on an H100).
    """
    return device.compute_capability == "9.0" and dtype.bits != 16


def producer(workload: Workload, tensor: Tensor) -> TorchOp | None:
    """The torch call in the workload that made ``tensor``'s storage, if any."""
    writers = uses(workload).writers.get(tensor.storage.id, ())
    return next((step for step in reversed(writers) if isinstance(step, TorchOp)), None)


def consumers(workload: Workload, storage: int) -> list[Step]:
    """The steps that read ``storage``: launches that are passed it and torch calls that take it."""
    return list(uses(workload).readers.get(storage, ()))


def operand_tensor(launch: Launch, operand: Operand) -> Tensor | None:
    """The tensor that a direct operand is loaded from."""
    load = launch.kernel.load(operand.load) if operand.load is not None else None
    return launch.tensor(load.base) if load is not None else None


def k_major_remedy(context: Context, base: Variant, launch: Launch, dot: Dot, side: str) -> Remedy | None:
    """How operand ``side`` (``a`` or ``b``) of ``dot`` can be read K-major; None where source offers no way.

    Either a per-call copy put it into the wrong order and can go, or it is a parameter that can be stored in the other
    order once.
    """
    operand: Operand = getattr(dot, side)
    tensor = operand_tensor(launch, operand)
    if tensor is None or operand.k_major is not False:
        return None
    copy = producer(context.workload, tensor)
    if copy is not None and copy.kind in COPY_KINDS and len(copy.reads) == 1:
        variant = base.then(Edits(skipped=frozenset({copy.span})))
        found = find_dot(context.after(variant), launch.span, dot.span)
        if found is not None and getattr(found[1], side).k_major:
            source = tensor_name(copy.reads[0], "the source tensor")
            shape = ", ".join(map(str, copy.reads[0].shape or ()))
            name = tensor_name(tensor, "the copy")
            return Remedy(
                variant,
                f"read `{source}` in place as a K-contiguous [{shape}] view instead of its per-call copy",
                f"Drop the copy at line {copy.span.line} and pass the view's strides, so that `{name}` is contiguous along K.",
                (
                    Evidence(
                        f"`{name}` is a per-call {copy.name} copy of `{source}`, which is already K-contiguous",
                        copy.span,
                    ),
                ),
            )
        return None
    if tensor.storage.origin == "parameter":
        name = tensor_name(tensor, "the weight")
        return Remedy(
            base.then(transform=KMajor(launch.span, dot.span, side)),
            f"store `{name}` K-contiguous once, when the module is built, and pass it as a transposed view",
            f"Transpose `{name}` once in `__init__` (and when a state dict is loaded) and pass the view's strides.",
        )
    return None


@dataclass(frozen=True)
class KMajor(LaunchChange):
    """The workload with one dot operand contiguous along K in memory."""

    dot: Span
    side: str

    def _node(self, node: Node) -> Node:
        if isinstance(node, Dot) and node.span == self.dot:
            operand: Operand = getattr(node, self.side)
            swapped = replace(operand, k_stride=operand.other_stride, other_stride=operand.k_stride)
            return replace(node, a=swapped) if self.side == "a" else replace(node, b=swapped)
        return node
