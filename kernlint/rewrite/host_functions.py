"""Functions and operators of Python and PyTorch in a kernel: what Triton has in their place."""

from __future__ import annotations

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.faults import MendedFault
from kernlint.syntax.walk import walk

#: Functions of one tensor that Triton has under the same name, and those that it has under another one.
_ALIKE = frozenset(
    {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "floor", "ceil", "abs", "sigmoid"}
)
_RENAMED = {"fabs": "abs"}
#: Host helpers of Triton that kernels have as well.
_HELPERS = frozenset({"cdiv"})
_MODULES = ("math", "torch", "numpy", "triton", "builtins", "")


@mends("host-function")
def tritons_function(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``torch.exp(x)``, ``math.exp(x)`` and ``abs(x)`` become ``tl.exp(x)`` and ``tl.abs(x)``."""
    source = site.source
    node = source.expression_at(fault.place)
    call = node if isinstance(node, cst.Call) else source.parent(node)
    if not isinstance(call, cst.Call) or (call is not node and call.func is not node):
        raise CannotRewrite("the function is not called there")
    module, _, name = (source.origin(call.func) or "").rpartition(".")
    wanted = _RENAMED.get(name, name)
    helper = name in _HELPERS and module == "triton"
    one = len(call.args) == 1 and call.args[0].keyword is None and not call.args[0].star
    if module not in _MODULES or not (helper or (wanted in _ALIKE and module != "triton" and one)):
        raise CannotRewrite(f"Triton has nothing that does what `{source.code(call.func)}` does with these arguments")
    target = site.program.question.target or Target()
    if target.has(f"triton.language.{wanted}") is False:
        raise CannotRewrite(f"Triton {target.release} has no tl.{wanted}")
    return [source.replace(call.func, source.spelled(f"triton.language.{wanted}"))]


@mends("power")
def repeated_product(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``v ** 2`` becomes ``v * v``."""
    source = site.source
    node = source.at(fault.place, cst.BinaryOperation)
    exponent = node.right
    count = exponent.evaluated_value if isinstance(exponent, cst.Integer) else None
    if isinstance(exponent, cst.Float) and exponent.evaluated_value in (2.0, 3.0):
        count = int(exponent.evaluated_value)
    if not isinstance(node.operator, cst.Power) or count not in (2, 3):
        raise CannotRewrite("the exponent is not 2 or 3")
    if any(isinstance(inner, cst.Call) and not _is_pure(inner) for inner in walk(node.left)):
        raise CannotRewrite("what is raised to a power is made by a call, which would be made twice; give it a name")
    text = source.full_code(node.left)
    if isinstance(node.left, (cst.UnaryOperation, cst.BinaryOperation)) and not node.left.lpar:
        text = f"({text})"
    product = " * ".join([text] * count)
    # `a / b ** 2` binds the power tighter than the product.
    above = source.parent(node)
    loose = isinstance(above, (cst.BinaryOperation, cst.UnaryOperation, cst.Attribute)) and not node.lpar
    return [source.replace(node, f"({product})" if loose else product)]


def _is_pure(call: cst.Call) -> bool:
    """Whether a call is a cast, which costs nothing to write twice."""
    return (
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "to"
        and not isinstance(call.func.value, cst.Call)
    )
