"""Windows of a tensor that were written out side by side, and the program that reads them where they lie."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.element_indexing import broadcast_offset, settled
from kernlint.workload import Dot, Expr, Launch, Load, Node, Operand, Span, Step, Tensor, TorchOp, Workload, concrete
from kernlint.workload.access import Bounds
from kernlint.workload.expr import floordiv, lift, mod

_SIDES = ("height", "width")


def copies_windows(op: TorchOp) -> bool:
    """Whether ``op`` writes out elements of what it reads several times: columns of windows, a copy of a view that overlaps
    itself."""
    if len(op.reads) != 1 or len(op.writes) != 1:
        return False
    return op.name == "unfold" or (op.kind in ("copy", "transpose") and _overlaps(op.reads[0]))


def _overlaps(view: Tensor) -> bool:
    """Whether ``view`` has more elements than the memory that it spans, by strides of which none is zero."""
    sizes = view.extents
    strides = [concrete(stride) for stride in view.strides or ()]
    if sizes is None or len(sizes) != len(strides) or not all(s is not None and s > 0 for s in strides):
        return False
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides) if n and s) < prod(sizes)


@dataclass(frozen=True)
class ThroughWindows:
    """The workload without the torch calls at ``ops``, whose readers load from the windows of the original instead."""

    ops: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        calls = {
            step.writes[0].storage.id: step
            for step in workload.all_steps
            if isinstance(step, TorchOp) and step.span in self.ops
        }

        def change(step: Step) -> Step | None:
            if isinstance(step, TorchOp) and step.span in self.ops:
                return None
            return _reading(step, calls) if isinstance(step, Launch) else step

        return workload.mapped(change)


def can_read_windows(workload: Workload, op: TorchOp) -> bool:
    """Whether each launch that is handed what ``op`` makes could load it from where ``op`` reads."""
    made = op.writes[0].storage.id
    loads = [(launch, load) for launch in workload.launches() for load in launch.accesses(made, Load)]
    return bool(loads) and all(_moved(launch, load, op) is not None for launch, load in loads)


def _reading(launch: Launch, calls: dict[int, TorchOp]) -> Launch:
    moved: dict[int, Load] = {}
    arguments = dict(launch.arguments)
    for made, op in calls.items():
        for load in launch.accesses(made, Load):
            place = _moved(launch, load, op)
            if place is not None:
                moved[load.id] = place
                arguments[load.base] = op.reads[0]

    def change(node: Node) -> Node:
        if isinstance(node, Load):
            return moved.get(node.id, node)
        if isinstance(node, Dot):
            return replace(node, a=_operand(node.a, moved), b=_operand(node.b, moved))
        return node

    return replace(launch.rewritten(change), arguments=arguments, alternatives=()) if moved else launch


def _operand(operand: Operand, moved: dict[int, Load]) -> Operand:
    """``operand``, of unknown strides where it is gathered now."""
    return replace(operand, k_stride=None, other_stride=None) if operand.loads & moved.keys() else operand


def _moved(launch: Launch, load: Load, op: TorchOp) -> Load | None:
    """``load`` from what ``op`` reads instead of from what it makes; None where the offset does not tell."""
    tensor, source = launch.tensor(load.base), op.reads[0]
    if tensor is None or load.offset is None or not load.offset.is_followed or not op.writes[0].is_contiguous:
        return None
    element = load.offset + lift(tensor.offset)
    settle: Callable[[Expr], Expr] = lambda expr: settled(expr, load)  # noqa: E731
    found = _unfolded(op, element, settle) if op.name == "unfold" else None
    if op.name != "unfold":
        offset = broadcast_offset(source, source.shape or (), element)
        found = (settle(offset), ()) if offset is not None else None
    if found is None:
        return None
    offset, bounds = found
    return replace(load, offset=offset, mask=(*(load.mask or ()), *bounds) if load.mask or bounds else load.mask)


def _unfolded(op: TorchOp, element: Expr, settle: Callable[[Expr], Expr]) -> tuple[Expr, Bounds] | None:
    """Where ``F.unfold`` took ``element`` of its columns from, and the bounds of the picture there."""
    source, columns = op.reads[0], op.writes[0]
    sizes = [op.dims.get(f"{word}_{side}") for word in ("kernel", "stride", "padding", "dilation") for side in _SIDES]
    wide = op.dims.get("windows_wide")
    if source.shape is None or source.strides is None or columns.shape is None or wide is None or None in sizes:
        return None
    kernel_height, kernel_width, *geometry = (size or 0 for size in sizes)
    depth, windows = columns.shape[-2:]
    window, rest = settle(lift(mod(element, windows))), settle(lift(floordiv(element, windows)))
    tap, image = settle(lift(mod(rest, depth))), settle(lift(floordiv(rest, depth)))
    taps = (mod(floordiv(tap, kernel_width), kernel_height), mod(tap, kernel_width))
    starts = (floordiv(window, wide), mod(window, wide))
    *outer, stride_c, _, _ = (0, *source.strides) if len(source.strides) == 3 else source.strides
    offset = image * lift(outer[0]) + lift(floordiv(tap, kernel_height * kernel_width)) * stride_c
    bounds = []
    for side in range(2):
        step, padding, apart = geometry[side], geometry[2 + side], geometry[4 + side]
        at = lift(starts[side]) * step - padding + lift(taps[side]) * apart
        offset = offset + at * source.strides[side - 2]
        bounds += [(lift(-1), at), (at, lift(source.shape[side - 2]))] if padding else []
    return offset, tuple(bounds)
