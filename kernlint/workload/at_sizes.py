"""A launch with open sizes, at a call that gives them: what the program need not be read again for."""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.records import replace
from kernlint.workload.expr import Atom, Expr, Size, Symbol
from kernlint.workload.kernel import Access, Bounds, Dot, Loop, Node, Operand
from kernlint.workload.steps import Launch, Tensor


def launch_at(launch: Launch, sizes: Mapping[Symbol, Size]) -> Launch:
    """``launch`` with ``sizes`` for its symbols; see :func:`substituted`."""
    return substituted(launch, dict(sizes.items()))


def substituted(launch: Launch, values: Mapping[Atom, Size]) -> Launch:
    """``launch`` with ``values`` for symbols, program ids or loop indices: in the grid and the arguments, and in the kernel's
    addresses, masks, strides of operands and trip counts, which is what a launch is priced by. What else a kernel records
    about its source (index widths, the contents of masked lanes, the bounds behind a ``tl.where``) keeps the atoms."""
    given = _Given(values)
    arguments = {
        name: given.tensor(value)
        if isinstance(value, Tensor)
        else given.number(value)
        if isinstance(value, Expr)
        else value
        for name, value in launch.arguments.items()
    }
    return replace(launch.rewritten(given.node), grid=given.numbers(launch.grid), arguments=arguments)


class _Given:
    def __init__(self, sizes: Mapping[Atom, Size]) -> None:
        self._put = Expr.substitution(sizes)

    def node(self, node: Node) -> Node:
        if isinstance(node, Access):
            offset = self._put(node.offset) if node.offset is not None else None
            mask = self._bounds(node.mask) if node.mask is not None else None
            return replace(node, offset=offset, mask=mask, classes=self._bounds(node.classes))
        if isinstance(node, Dot):
            return replace(node, a=self._operand(node.a), b=self._operand(node.b))
        if isinstance(node, Loop) and node.trip is not None:
            return replace(node, trip=self.number(node.trip))
        return node

    def tensor(self, tensor: Tensor) -> Tensor:
        shape = self.numbers(tensor.shape) if tensor.shape is not None else None
        strides = self.numbers(tensor.strides) if tensor.strides is not None else None
        return replace(tensor, shape=shape, strides=strides, offset=self.number(tensor.offset))

    def numbers(self, sizes: tuple[Size, ...]) -> tuple[Size, ...]:
        return tuple(map(self.number, sizes))

    def number(self, size: Size) -> Size:
        """An integer where nothing is open any more."""
        if isinstance(size, int):
            return size
        whole = self._put(size)
        return whole if whole.value is None else whole.value

    def _operand(self, operand: Operand) -> Operand:
        near = self.number(operand.k_stride) if operand.k_stride is not None else None
        far = self.number(operand.other_stride) if operand.other_stride is not None else None
        return replace(operand, k_stride=near, other_stride=far)

    def _bounds(self, bounds: Bounds) -> Bounds:
        return tuple((self._put(left), self._put(right)) for left, right in bounds)
