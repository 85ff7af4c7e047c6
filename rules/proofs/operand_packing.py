"""Operands that lie scattered in memory, and the copy that puts the elements of a tile side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernlint.cost.traffic.model import SECTOR_BYTES
from kernlint.records import dataclass, replace
from kernlint.workload import Dot, Expr, Launch, Load, Node, Operand, Span, Tensor, TorchOp, Workload, concrete
from kernlint.workload.steps import map_launch
from kernlint.workload.synthesis import new_tensor


@dataclass(frozen=True)
class Scattered:
    """A tile ``load`` that is ``operand`` of ``dot``, of a contiguous ``tensor`` in which its neighbours along both axes lie a
    sector or more apart. ``dims`` are the tensor's dimensions along the contracted and along the other axis of the tile."""

    load: Load
    dot: Dot
    operand: Operand
    tensor: Tensor
    dims: tuple[int, int]

    @property
    def order(self) -> tuple[int, ...]:
        """The permutation of the tensor's dimensions that makes the tile's rows contiguous: the tile's own axes last."""
        assert self.tensor.shape is not None
        rest = [dim for dim in range(len(self.tensor.shape)) if dim not in self.dims]
        return (*rest, *self.dims)


def scattered_operands(launch: Launch) -> Iterator[Scattered]:
    """The operands of dots whose every element is in a sector of its own."""
    for dot in launch.kernel.dots():
        for operand in (dot.a, dot.b):
            load = launch.kernel.load(operand.load) if operand.load is not None and operand.direct else None
            if load is None or len(load.shape) != 2 or min(load.shape) < 2:
                continue
            found = _scattered(launch, dot, operand, load)
            if found is not None:
                yield found


def _scattered(launch: Launch, dot: Dot, operand: Operand, load: Load) -> Scattered | None:
    tensor = launch.tensor(load.base)
    k_stride, other = concrete(operand.k_stride), concrete(operand.other_stride)
    if tensor is None or tensor.shape is None or tensor.is_contiguous is not True or k_stride is None or other is None:
        return None
    if min(abs(k_stride), abs(other)) * load.dtype.bytes < SECTOR_BYTES:
        return None
    strides = _strides(tensor)
    if strides is None or len(set(strides)) < len(strides) or k_stride not in strides or other not in strides:
        return None
    dims = strides.index(k_stride), strides.index(other)
    return Scattered(load, dot, operand, tensor, dims) if dims[0] != dims[1] else None


def _strides(tensor: Tensor) -> tuple[int, ...] | None:
    """The strides of a contiguous tensor of known shape, longest first; None where an extent is open or 1."""
    extents = [concrete(extent) or 0 for extent in tensor.shape or ()]
    if any(extent < 2 for extent in extents):
        return None
    return tuple(math.prod(extents[dim + 1 :]) for dim in range(len(extents)))


@dataclass(frozen=True)
class Packed:
    """The workload with the tensor behind one scattered operand permuted and copied before the launch, so that the tiles at
    ``load`` read rows of neighbours."""

    launch: Span
    load: Span

    def __call__(self, workload: Workload) -> Workload:
        return map_launch(workload, self.launch, self._changed)

    def _changed(self, launch: Launch) -> Launch | tuple[TorchOp, Launch]:
        found = self._find(launch)
        packed = None if found is None else self._packed(launch)
        if found is None or packed is None:
            return launch
        name = found.load.base
        view, copy = _permuted(found), packed.arguments[name]
        assert isinstance(copy, Tensor)
        others = tuple(self._packed(one) or one for one in launch.alternatives)
        step = TorchOp("contiguous", "copy", (view,), (copy,), launch.span, launch.function)
        return step, replace(packed, alternatives=others)

    def _find(self, launch: Launch) -> Scattered | None:
        return next((one for one in scattered_operands(launch) if one.load.span == self.load), None)

    def _packed(self, launch: Launch) -> Launch | None:
        found = self._find(launch)
        if found is None:
            return None
        view = _permuted(found)
        if view.shape is None or view.dtype is None:
            return None
        copy = new_tensor("packed", view.dtype, view.shape)
        loads = {load.id: load for load in launch.kernel.loads() if load.base == found.load.base}
        moved = {id: _repacked_offset(load.offset, found) for id, load in loads.items()}
        if any(offset is None for offset in moved.values()):
            return None

        def change(node: Node) -> Node:
            if isinstance(node, Load) and node.id in moved:
                return replace(node, offset=moved[node.id])
            if isinstance(node, Dot):
                return replace(node, a=_repacked(node.a, found), b=_repacked(node.b, found))
            return node

        changed = launch.rewritten(change)
        return replace(changed, arguments={**launch.arguments, found.load.base: copy})


def _permuted(found: Scattered) -> Tensor:
    """The view of the operand's tensor with its dimensions in the new order."""
    tensor, strides = found.tensor, _strides(found.tensor)
    assert tensor.shape is not None and strides is not None
    return replace(
        tensor,
        shape=tuple(tensor.shape[dim] for dim in found.order),
        strides=tuple(strides[dim] for dim in found.order),
    )


def _new_strides(found: Scattered) -> dict[int, int]:
    """The stride of each dimension of the tensor in the copy."""
    strides = _strides(_permuted(found))
    assert strides is not None
    return dict(zip(found.order, strides))


def _repacked_offset(offset: Expr | None, found: Scattered) -> Expr | None:
    """``offset`` in the copy: each term is a step along the slowest dimension whose stride divides it."""
    old, new = _strides(found.tensor), _new_strides(found)
    if offset is None or old is None:
        return None
    terms = {}
    for monomial, coefficient in offset.terms.items():
        dim = next(dim for dim, stride in enumerate(old) if coefficient % stride == 0)
        terms[monomial] = coefficient // old[dim] * new[dim]
    return Expr(terms)


def _repacked(operand: Operand, found: Scattered) -> Operand:
    """``operand`` with its strides in the copy, if the copy is what it reads."""
    if operand.load != found.load.id:
        return operand
    new = _new_strides(found)
    return replace(operand, k_stride=new[found.dims[0]], other_stride=new[found.dims[1]])
