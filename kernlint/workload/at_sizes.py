"""A launch with open sizes, at a call that gives them: what the program need not be read again for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from kernlint.records import replace
from kernlint.workload.access import Access, Bounds
from kernlint.workload.expr import Atom, Expr, Size, Symbol, simplify
from kernlint.workload.kernel import Dot, Kernel, Loop, Node, Operand
from kernlint.workload.steps import Launch
from kernlint.workload.tensor import Tensor


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


def kernel_at(kernel: Kernel, values: Mapping[Atom, Size]) -> Kernel:
    """``kernel`` with ``values`` for symbols in all that its nodes say."""
    return replace(kernel, body=_Everywhere(values).of(kernel.body))


class _Everywhere:
    """Values put for symbols in records and what they hold."""

    def __init__(self, values: Mapping[Atom, Size]) -> None:
        self._put = Expr.substitution(values)

    def of(self, value: Any) -> Any:
        if type(value) is Expr:
            return self._put(value)
        if type(value) is tuple:
            parts = [self.of(part) for part in value]
            return value if all(a is b for a, b in zip(parts, value)) else tuple(parts)
        changed = {}
        for name, is_size in _with_numbers(type(value)):  # type: ignore[arg-type]  # a class can be hashed
            old = getattr(value, name)
            new = self.of(old)
            if new is not old:
                changed[name] = simplify(new) if is_size else new
        return replace(value, **changed) if changed else value


@cache
def _with_numbers(kind: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a record of ``kind`` that may hold expressions, each with whether a plain number stands there as an integer."""
    if not is_dataclass(kind):
        return ()
    return tuple((f.name, str(f.type).startswith("Size")) for f in fields(kind) if f.type not in _PLAIN)


_PLAIN = frozenset(
    {"str", "int", "float", "bool", "Dtype", "Dtype | None", "float | None", "int | None", "bool | None", "Span"}
    | {"tuple[int, ...]", "tuple[str, ...]", "frozenset[int]", "tuple[Cast, ...]", "tuple[Span, ...]", "float | str"}
)


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
