"""Elementwise torch calls as expressions of a kernel, on fp32 values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from kernlint.records import dataclass
from kernlint.rewrite.function import callee
from kernlint.rewrite.text import CannotRewrite


@dataclass(frozen=True)
class TorchCall:
    """An elementwise torch operation as the source writes it: ``operands`` in order, and further keyword arguments."""

    name: str
    operands: tuple[cst.BaseExpression, ...]
    options: Mapping[str, cst.BaseExpression]


_OPERATORS: dict[type, str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "div",
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "div",
}  # fmt: skip

#: ``{tl}`` is the language, ``{0}`` and ``{1}`` the operands. NaNs go through a relu as they do in torch.
_FORMS: dict[str, str] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "subtract": "{0} - {1}",
    "mul": "{0} * {1}",
    "multiply": "{0} * {1}",
    "div": "{0} / {1}",
    "true_divide": "{0} / {1}",
    "neg": "-{0}",
    "relu": "{tl}.where({0} < 0, 0.0, {0})",
    "sigmoid": "{tl}.sigmoid({0})",
    "silu": "{0} * {tl}.sigmoid({0})",
    "swish": "{0} * {tl}.sigmoid({0})",
    "tanh": "2.0 * {tl}.sigmoid(2.0 * {0}) - 1.0",
    "exp": "{tl}.exp({0})",
    "log": "{tl}.log({0})",
    "sqrt": "{tl}.sqrt({0})",
    "rsqrt": "1.0 / {tl}.sqrt({0})",
    "abs": "{tl}.abs({0})",
    "square": "{0} * {0}",
    "reciprocal": "1.0 / {0}",
    "maximum": "{tl}.maximum({0}, {1})",
    "minimum": "{tl}.minimum({0}, {1})",
    "relu6": "{tl}.minimum({tl}.where({0} < 0, 0.0, {0}), 6.0)",
    "mish": "{0} * (2.0 * {tl}.sigmoid(2.0 * {tl}.log(1.0 + {tl}.exp({0}))) - 1.0)",
    "hardtanh": "{tl}.minimum({tl}.maximum({0}, -1.0), 1.0)",
    "hardsigmoid": "{tl}.minimum({tl}.maximum({0} / 6.0 + 0.5, 0.0), 1.0)",
    "hardswish": "{0} * {tl}.minimum({tl}.maximum({0} / 6.0 + 0.5, 0.0), 1.0)",
}
_GELU = "0.5 * {0} * (1.0 + {tl}.erf({0} * 0.7071067811865476))"
_GELU_TANH = "{0} * {tl}.sigmoid(1.5957691216057308 * ({0} + 0.044715 * {0} * {0} * {0}))"
#: Changes of type to a floating-point one: nothing to do on a value that is in fp32.
_CASTS = frozenset({"to", "type", "type_as", "float", "half", "bfloat16"})
_IGNORED_OPTIONS = frozenset({"inplace", "copy", "non_blocking", "memory_format"})


def torch_call(node: cst.CSTNode) -> TorchCall:
    """What ``node``, where a torch operation stands, calls on what. Raises where it is no plain elementwise call."""
    if isinstance(node, cst.BinaryOperation) and type(node.operator) in _OPERATORS:
        return TorchCall(_OPERATORS[type(node.operator)], (node.left, node.right), {})
    if isinstance(node, cst.AugAssign) and type(node.operator) in _OPERATORS:
        return TorchCall(_OPERATORS[type(node.operator)], (node.target, node.value), {})
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return TorchCall("neg", (node.expression,), {})
    if not isinstance(node, cst.Call) or any(arg.star for arg in node.args):
        raise CannotRewrite("an operation of the epilogue is not written as a call or an operator")
    operands = [arg.value for arg in node.args if arg.keyword is None]
    options = {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
    return TorchCall(callee(node).rstrip("_"), tuple(operands), options)


def is_cast(call: TorchCall) -> bool:
    return call.name in _CASTS


def arity(call: TorchCall) -> int:
    """How many of the operands are values of the expression; the others are settings."""
    if is_cast(call):
        return 1
    form = _FORMS.get(call.name)
    return 2 if form is not None and "{1}" in form else 1


def expression(call: TorchCall, values: Sequence[str], tl: str, literals: Sequence[str | None]) -> str:
    """The operation on ``values``, which bind as tightly as names. ``literals`` are the texts of those operands behind them
    that are numbers or strings, None for others. Raises :class:`CannotRewrite` for what has no such form."""
    if is_cast(call):
        return values[0]
    options = {name: node for name, node in call.options.items() if name not in _IGNORED_OPTIONS}
    if call.name == "gelu":
        tanh = options.pop("approximate", None)
        if literals or options or not (tanh is None or isinstance(tanh, cst.SimpleString)):
            raise CannotRewrite("the options of gelu are not written out")
        approximate = tanh is not None and tanh.raw_value == "tanh"
        return (_GELU_TANH if approximate else _GELU).format(*values, tl=tl)
    if call.name in ("clamp", "clip"):
        return _clamp(values[0], literals, options, tl)
    if call.name == "leaky_relu":
        slope = number(options.pop("negative_slope", None)) or (literals[0] if literals else "0.01")
        if slope is None or options:
            raise CannotRewrite("the slope of leaky_relu is not a number in the source")
        return f"{tl}.where({values[0]} < 0, {slope} * {values[0]}, {values[0]})"
    if call.name == "pow" and list(literals) in (["2"], ["2.0"]) and not options:
        return f"{values[0]} * {values[0]}"
    form = _FORMS.get(call.name)
    if form is None:
        raise CannotRewrite(f"torch `{call.name}` has no form in a kernel's epilogue that kernlint knows")
    if options or any(literal is not None for literal in literals):
        raise CannotRewrite(f"the options of torch `{call.name}` have no form in a kernel's epilogue")
    return form.format(*values, tl=tl)


def _clamp(value: str, literals: Sequence[str | None], options: dict[str, cst.BaseExpression], tl: str) -> str:
    low = number(options.pop("min", None)) or (literals[0] if literals else None)
    high = number(options.pop("max", None)) or (literals[1] if len(literals) > 1 else None)
    if options or (low is None and high is None):
        raise CannotRewrite("the bounds of clamp are not numbers in the source")
    if low is not None:
        value = f"{tl}.maximum({value}, {low})"
    return value if high is None else f"{tl}.minimum({value}, {high})"


def number(node: cst.BaseExpression | None) -> str | None:
    """The text of a number (or of one with a minus); None for anything else."""
    if isinstance(node, (cst.Integer, cst.Float)):
        return node.value
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = number(node.expression)
        return None if inner is None else f"-{inner}"
    return None
