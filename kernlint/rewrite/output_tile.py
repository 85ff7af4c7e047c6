"""The tile that a matmul kernel stores, as its source spells it: rows, columns, bounds and addresses."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.interpret.triton.tiles import shift_lanes
from kernlint.interpret.triton.values import Block
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.function import FunctionSource, LaunchSource, argument, callee
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.walk import walk
from kernlint.workload import Access, Expr, Lane, Store, Tensor
from kernlint.workload.expr import Opaque


class OutputTile:
    """The one store of the kernel of ``place``, which must write a two-dimensional tile of a matrix."""

    def __init__(self, place: LaunchSource, editor: Editor) -> None:
        self.place = place
        self.kernel: FunctionSource = place.kernel
        self.editor = editor
        stores = [node for node, _ in place.launch.kernel.walk(Store)]
        if len(stores) != 1 or not isinstance(stores[0], Store):
            raise CannotRewrite("the kernel does not end in one store")
        self.access = stores[0]
        call = place.module.at(self.access.span, cst.Call)
        if call is None or call not in self.kernel.parents or callee(call) != "store":
            raise CannotRewrite("the product is stored in a helper function")
        self.call = call
        self.line = self.kernel.line(call)
        if not any(self.line is line for line in self.kernel.body):
            raise CannotRewrite("the product is stored in a loop or branch")
        tensor = place.launch.tensor(self.access.base)
        if tensor is None or tensor.shape is None or tensor.strides is None or len(self.access.shape) != 2:
            raise CannotRewrite("the product is not a matrix of known layout")
        if len(tensor.shape) != 2 or tensor.strides[1] != 1 or self.access.offset is None:
            raise CannotRewrite("the product is not a row-major matrix")
        self.tensor: Tensor = tensor

    def argument(self, position: int, name: str) -> cst.BaseExpression | None:
        """An argument of the store."""
        return argument(self.call, name, position)

    @property
    def value(self) -> cst.BaseExpression:
        found = self.argument(1, "value")
        assert found is not None
        return found

    # -- other tensors at the tile ----------------------------------------------------------------------------------

    def load(self, pointer: str, access: Access) -> tuple[str, str]:
        """(the load of what ``access``, moved to this tile, reads through ``pointer``; what makes it broadcast)."""
        tl = self.place.tl
        if access.offset is None or (access.elements == 1 and not access.offset.atoms()):
            return f"{tl}.load({pointer})", ""
        for axis in (1, 0):
            index = self._vector(axis)
            if index is None or len(access.shape) != 1 or access.shape[0] != self.access.shape[axis]:
                continue
            value = self.kernel.values[index]
            assert isinstance(value, Block) and value.expr is not None
            if self._unwrapped(access.offset, axis) == value.expr:
                bound = self._bound(axis, index.value)
                options = f", mask={index.value} < {bound}, other=0.0" if bound else ""
                return f"{tl}.load({pointer} + {index.value}{options})", ("[:, None]", "[None, :]")[axis]
        if access.shape == self.access.shape and access.offset == self.access.offset:
            mask = self.argument(2, "mask")
            options = f", mask={self.editor.code(mask)}, other=0.0" if mask is not None else ""
            return f"{tl}.load({self._address(pointer)}{options})", ""
        raise CannotRewrite("a further operand of the epilogue does not lie along the rows or columns of the tile")

    def _unwrapped(self, offset: Expr, axis: int) -> Expr:
        """``offset`` without the wrap at the end of the matrix, where the store has no mask: nothing lies behind it."""
        ((monomial, factor),) = offset.terms.items() if len(offset.terms) == 1 else (((), 0),)
        atom = monomial[0] if len(monomial) == 1 and factor == 1 else None
        if isinstance(atom, Opaque) and atom.op == "mod" and self.access.mask is None:
            assert self.tensor.shape is not None
            if atom.args[1] == self.tensor.shape[axis]:
                return atom.args[0]
        return offset

    def _vector(self, axis: int) -> cst.Name | None:
        """The variable that holds the rows (0) or columns (1) of the tile."""
        assert self.access.offset is not None and self.tensor.strides is not None
        columns = [(n, v) for n, v in self._vectors() if v.shape[0] == self.access.shape[1]]
        for row, above in self._vectors():
            if above.shape[0] != self.access.shape[0] or above.expr is None:
                continue
            for column, right in columns:
                moved = shift_lanes(right.expr, 1)
                if moved is not None and above.expr * self.tensor.strides[0] + moved == self.access.offset:
                    return (row, column)[axis]
        if axis == 1:
            # The rows may have no name of their own.
            for column, right in columns:
                moved = shift_lanes(right.expr, 1)
                rest = self.access.offset - moved if moved is not None else None
                if rest is not None and rest.coefficient(Lane(1)) == Expr({}) and _covers(rest, self.tensor.strides[0]):
                    return column
        return None

    def _vectors(self) -> Iterator[tuple[cst.Name, Block]]:
        """One-dimensional index tiles with a name, bound once before the store."""
        end = self.kernel.top_level(self.line)
        for line in self.kernel.body[:end]:
            for node in walk(line):
                value = self.kernel.values.get(node)
                if not isinstance(node, cst.Name) or not isinstance(value, Block) or len(value.shape) != 1:
                    continue
                if value.expr is None or value.base or not self.kernel.is_bound(node):
                    continue
                if len(self.kernel.bindings(node.value)) == 1 and self.kernel.line(node) is line:
                    yield node, value

    def _bound(self, axis: int, name: str) -> str:
        """What the mask of the store holds the rows or columns below; empty where it has no mask."""
        mask = self.argument(2, "mask")
        if mask is None:
            return ""
        for comparison in self._comparisons(mask):
            left = comparison.left
            while isinstance(left, cst.Subscript):
                left = left.value
            target = comparison.comparisons[0]
            if isinstance(left, cst.Name) and left.value == name and isinstance(target.operator, cst.LessThan):
                return self.editor.code(target.comparator)
        bounds = self.access.mask or ()
        if self.access.mask == () or any(Lane(axis) in (right - left).atoms() for left, right in bounds):
            raise CannotRewrite("the bound of the tile's rows or columns is not written out in the mask of the store")
        return ""

    def _comparisons(self, mask: cst.BaseExpression) -> Iterator[cst.Comparison]:
        node = self.kernel.resolved(mask)
        while isinstance(node, cst.Subscript):
            node = self.kernel.resolved(node.value)
        if isinstance(node, cst.Comparison):
            if len(node.comparisons) == 1:
                yield node
        elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitAnd):
            yield from self._comparisons(node.left)
            yield from self._comparisons(node.right)

    def _address(self, pointer: str) -> str:
        """The address of the tile in another matrix of the same layout."""
        node = self.argument(0, "pointer")
        assert node is not None
        node = self.kernel.resolved(node)
        bases = [n for n in walk(node) if isinstance(n, cst.Name) and n.value == self.access.base]
        if len(bases) != 1 or self.kernel.bindings(self.access.base):
            raise CannotRewrite("the address of the product is put together from several variables")
        start, end = self.place.source.range_of(node)
        first, last = self.place.source.range_of(bases[0])
        return f"{self.place.source.text[start:first]}{pointer}{self.place.source.text[last:end]}"


def _covers(rest: Expr, stride: object) -> bool:
    """Whether all that is left of an address is rows: a multiple of the row stride."""
    number = stride if isinstance(stride, int) else None
    return number is not None and all(c % number == 0 for c in rest.terms.values())
