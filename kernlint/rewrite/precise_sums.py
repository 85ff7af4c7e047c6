"""Sums, products and small literals that half precision spoils: computed in float32."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.callers import used_elsewhere
from kernlint.rewrite.conversions import converted, origin_expression
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import argument
from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.faults import MendedFault
from kernlint.syntax.walk import parameters

_OPEN = "which type the values have is not known"


@mends("low-precision-sum")
def summed_in_float32(site: Site, fault: MendedFault) -> Rewriting:
    """``tl.sum(v)`` becomes ``tl.sum(v.to(tl.float32))``."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    method = isinstance(call.func, cst.Attribute) and not (source.origin(call.func) or "").startswith("triton.")
    operand = call.func.value if method and isinstance(call.func, cst.Attribute) else argument(call, "input", 0)
    if operand is None:
        raise CannotRewrite("what is added up is not written in the call")
    return _in_float32(source, operand, "the sum", fault)


@mends("rounded-product")
def product_in_float32(site: Site, fault: MendedFault) -> Rewriting:
    """``total += a * b`` becomes ``total += a.to(tl.float32) * b``."""
    source = site.source
    node = source.node_at(fault.place)
    terms = [node.left, node.right] if isinstance(node, cst.BinaryOperation) else [getattr(node, "value", None)]
    products = [one for term in terms if (one := _product(source, term)) is not None]
    if len(products) != 1:
        raise CannotRewrite("the product does not stand in this function")
    inline = any(products[0] is term for term in terms)
    made = _in_float32(source, products[0].left, "the product", fault)
    # An accumulator of float32 takes it as it is.
    return Rewriting(made.edits, Effects(numerics="changed")) if inline and "nothing here" not in fault.text else made


def _product(source: Source, node: cst.BaseExpression | None) -> cst.BinaryOperation | None:
    """The product that ``node`` is, or that the variable which it names is assigned."""
    found = origin_expression(source, node) if node is not None else None
    return found if isinstance(found, cst.BinaryOperation) and isinstance(found.operator, cst.Multiply) else None


@mends("lost-literal")
def literal_beside_float32(site: Site, fault: MendedFault) -> Rewriting:
    """``v + 1e-8`` becomes ``v.to(tl.float32) + 1e-8``."""
    source = site.source
    node = source.expression_at(fault.place)
    if isinstance(node, cst.BinaryOperation):
        sides = [node.left, node.right]
    else:
        sides = [arg.value for arg in node.args] if isinstance(node, cst.Call) else []
    tiles = [side for side in sides if not _is_number(side)]
    if len(sides) != 2 or len(tiles) != 1:
        raise CannotRewrite("the literal does not stand beside the tile")
    return _in_float32(source, tiles[0], "the result", fault)


def _is_number(node: cst.BaseExpression) -> bool:
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    return isinstance(inner, (cst.Integer, cst.Float))


def _in_float32(source: Source, operand: cst.BaseExpression, what: str, fault: MendedFault) -> Rewriting:
    notes = [f"{what} is float32 from here on, and so is what is computed from it"]
    notes += [_OPEN] if "nothing here" in fault.text or "may be" in fault.text else []
    return Rewriting(tuple(converted(source, operand, "float32")), Effects("unsafe", "changed", notes=tuple(notes)))


@mends("seed-address")
def loaded_seed(site: Site, fault: MendedFault) -> Rewriting:
    """``tl.rand(seed, c)`` becomes ``tl.rand(tl.load(seed), c)`` where ``seed`` is a pointer, for whoever launches the kernel."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    seed, kernel = argument(call, "seed", 0), source.function(call)
    if not isinstance(seed, cst.Name) or kernel is None:
        raise CannotRewrite("the seed is not a parameter that is written in the call")
    start, end = source.whole(seed)
    edits = (TextEdit(start, start, f"{source.spelled('triton.language.load')}("), TextEdit(end, end, ")"))
    return Rewriting(edits, used_elsewhere(site, kernel) | _always_a_tensor(site, kernel, seed.value))


def _always_a_tensor(site: Site, kernel: cst.FunctionDef, parameter: str) -> Effects:
    """Unsafe where a launch of ``kernel`` may pass a number for ``parameter``."""
    source, name = site.source, kernel.name.value
    position = [param.name.value for param in parameters(kernel)].index(parameter)
    for launch in site.workload.launches():
        if launch.kernel.name == name:
            given = argument(source.at(launch.span, cst.Call), parameter, position)
            made = None if given is None else origin_expression(source, given)
            if not isinstance(made, cst.Call) or not (source.origin(made.func) or "").startswith("torch."):
                note = f"whether the launch always passes a tensor for `{parameter}` is not known"
                return Effects("unsafe", notes=(note,))
    return Effects()
