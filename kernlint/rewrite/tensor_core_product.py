"""A broadcast multiply and ``tl.sum`` become ``tl.dot``."""

from __future__ import annotations

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import FunctionSource, LaunchSource, callee, indexing
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.algorithm.kl502_broadcast_multiply_sum_matmul import (
    BroadcastProduct,
    Factor,
    TensorCoreProduct,
    broadcast_products,
)
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt
from kernlint.workload.dtype import promote


@codemod(TensorCoreProduct)
def tensor_core_product(site: Site, transform: TensorCoreProduct) -> Rewriting:
    """``acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)`` becomes ``acc = tl.dot(a, b, acc)``.

    The operands are the loaded tiles in the type they have in memory: exact products for 16-bit floats, tf32 for fp32.
    """
    place = LaunchSource(site, transform.launch)
    kernel = place.kernel
    found = next((p for p in broadcast_products(place.launch) if p.reduce.span == transform.reduce), None)
    call = site.module.at(transform.reduce, cst.Call)
    if found is None or call is None or call not in kernel.parents:
        raise CannotRewrite("the sum of the product stands in a helper function")
    if found.padded:
        raise CannotRewrite("tl.dot needs an axis padded to 16")
    value = kernel.values.get(call)
    if not isinstance(value, Block) or len(value.shape) != 2 or value.dtype is None:
        raise CannotRewrite("the sum keeps the summed axis")
    edits = _Rewrite(place, found, call, value.dtype).edits()
    return Rewriting(tuple(edits), _effects(promote(found.a.load.dtype, found.b.load.dtype)))


def _effects(operand: Dtype) -> Effects:
    if operand.is_integer:
        return Effects()
    if operand.bits <= 16:
        return Effects(numerics="reordered")
    return Effects("unsafe", "changed", notes=("fp32 operands go through tf32 on the tensor cores",))


class _Rewrite:
    def __init__(self, place: LaunchSource, found: BroadcastProduct, call: cst.Call, dtype: Dtype) -> None:
        self.place = place
        self.kernel: FunctionSource = place.kernel
        self.found = found
        self.call = call
        self.dtype = dtype
        self.editor = Editor(place.source)
        #: Names whose only use was the product.
        self.gone: list[str] = []

    def edits(self) -> list[TextEdit]:
        product = self._product()
        operand = promote(self.found.a.load.dtype, self.found.b.load.dtype)
        factors = {}
        for node in (product.left, product.right):
            factor = self._factor_of(node)
            factors[factor.axis] = self._operand(node, factor, operand)
        if len(factors) != 2:
            raise CannotRewrite("both factors of the product come from one tile")
        a, b = factors[self.found.a.axis], factors[self.found.b.axis]
        out = dt.INT32 if operand.is_integer else dt.FLOAT32
        self._put(f"{a}, {b}", out)
        for name in self.gone:
            self.editor.delete(self.kernel.line(self.kernel.bindings(name)[0]))
        return self.editor.edits

    def _product(self) -> cst.BinaryOperation:
        """The multiplication that is summed, which nothing else may read."""
        function = self.call.func
        node = self.call.args[0].value if self.call.args else cst.Name("_")
        if isinstance(function, cst.Attribute) and isinstance(self.kernel.values.get(function.value), Block):
            node = function.value
        while isinstance(node, cst.Name):
            definition = self.kernel.definition(node.value)
            if definition is None or len(self.kernel.reads(node.value)) != 1:
                raise CannotRewrite(f"`{node.value}`, the product, is used elsewhere as well")
            self.gone.append(node.value)
            node = definition
        if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Multiply):
            raise CannotRewrite("the sum is not that of a plain product")
        return node

    def _factor_of(self, node: cst.BaseExpression) -> Factor:
        value = self.kernel.values.get(node)
        for factor in (self.found.a, self.found.b):
            if isinstance(value, Block) and value.loads == {factor.load.id}:
                return factor
        raise CannotRewrite("a factor of the product is not one loaded tile")

    def _operand(self, node: cst.BaseExpression, factor: Factor, wanted: Dtype) -> str:
        """The two-dimensional tile behind a factor, as an operand: [m, k] the first, [k, n] the second."""
        kept_first = factor is self.found.a
        node = self._peeled(node, factor)
        value = self.kernel.values.get(node)
        assert isinstance(value, Block)
        code = self.editor.operand(node)
        if value.dtype != wanted:
            if isinstance(node, cst.Name) and self._uncast(node.value, wanted):
                pass
            else:
                code = f"{code}.to({self.place.tl}.{wanted})"
        rows_are_kept = factor.kept < factor.reduced
        return code if rows_are_kept == kept_first else f"{self.place.tl}.trans({code})"

    def _peeled(self, node: cst.BaseExpression, factor: Factor) -> cst.BaseExpression:
        """``node`` without the casts and broadcasts that are not needed in front of a dot."""
        for _ in range(20):
            value = self.kernel.values.get(node)
            if isinstance(value, Block) and len(value.shape) == 2 and isinstance(node, cst.Name):
                if value.shape == factor.load.shape and value.source == factor.load.id and value.order in ((), (0, 1)):
                    return node
                break
            if isinstance(node, cst.Name):
                definition = self.kernel.definition(node.value)
                if definition is None:
                    break
                if len(self.kernel.reads(node.value)) == 1:
                    self.gone.append(node.value)
                node = definition
            elif indexing(node) or (callee(node) == "to" and isinstance(node.func, cst.Attribute)):  # type: ignore[attr-defined]
                node = node.value if isinstance(node, cst.Subscript) else node.func.value  # type: ignore[attr-defined]
            else:
                break
        raise CannotRewrite("a factor is not a two-dimensional tile with a name, cast and broadcast")

    def _uncast(self, name: str, wanted: Dtype) -> bool:
        """Drop the cast in the assignment of ``name`` where nothing else reads it."""
        definition = self.kernel.definition(name)
        if len(self.kernel.reads(name)) != 1 or callee(definition or cst.Pass()) != "to":
            return False
        assert isinstance(definition, cst.Call)
        function = definition.func
        inner = function.value if isinstance(function, cst.Attribute) else definition
        value = self.kernel.values.get(inner)
        if not isinstance(value, Block) or value.dtype != wanted:
            return False
        self.editor.replace(definition, self.editor.code(inner))
        return True

    def _put(self, operands: str, out: Dtype) -> None:
        """Replace the sum; one that is added to an accumulator of the dot's type becomes the dot's own addition."""
        tl = self.place.tl
        update = self._update()
        line = self.kernel.line(self.call)
        accumulator = self._accumulator(update)
        if accumulator and self.dtype_of(update) == out:
            text = f"{accumulator} = {tl}.dot({operands}, {accumulator})"
            if out.is_integer:
                text = text[:-1] + f", out_dtype={tl}.int32)"
            start, end = self.place.source.range_of(update)
            self.editor.put(start, end, text)
        else:
            dot = f"{tl}.dot({operands})"
            self.editor.replace(self.call, dot if self.dtype == out else f"{dot}.to({tl}.{self.dtype})")
        comments = [n for n in self.gone if self.editor.heading(self.kernel.line(self.kernel.bindings(n)[0]))]
        if comments or self.editor.heading(line):
            above = self.editor.heading(line)
            indent = self.place.source.indent_of(line)
            what = f"{indent}# tile product on tensor cores, accumulated in {out}\n"
            at = self.place.source.range_of(line)[0] - len(indent)
            self.editor.put(*(above or (at, at)), what, describes=True)

    def dtype_of(self, update: cst.CSTNode) -> Dtype | None:
        target = update.target if isinstance(update, cst.AugAssign) else getattr(update, "targets", [None])[0]
        target = target.target if isinstance(target, cst.AssignTarget) else target
        value = self.kernel.values.get(target) if target is not None else None
        return value.dtype if isinstance(value, Block) else None

    def _accumulator(self, update: cst.CSTNode) -> str:
        """``acc`` where ``update`` is ``acc += <the sum>`` or ``acc = acc + <the sum>``."""
        if isinstance(update, cst.AugAssign) and isinstance(update.operator, cst.AddAssign):
            return update.target.value if isinstance(update.target, cst.Name) else ""
        if (
            isinstance(update, cst.Assign)
            and isinstance(update.value, cst.BinaryOperation)
            and len(update.targets) == 1
        ):
            target, added = update.targets[0].target, update.value
            other = added.left if added.right is self.call else added.right
            if isinstance(added.operator, cst.Add) and isinstance(target, cst.Name) and isinstance(other, cst.Name):
                return target.value if other.value == target.value else ""
        return ""

    def _update(self) -> cst.CSTNode:
        """The statement that takes the sum as it is, or adds it to something; else what the sum stands in."""
        parent = self.kernel.parents[self.call]
        above = self.kernel.parents[parent]
        return above if isinstance(parent, cst.BinaryOperation) and isinstance(above, cst.Assign) else parent
