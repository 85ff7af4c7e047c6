"""How terms are spelled in a kernel: expressions of sizes and places, elementwise operations, and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.precision import is_single
from kernlint.generate.values import CannotGenerate
from kernlint.workload import Dtype, Expr, Opaque
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, Monomial

#: Operators of two operands.
SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "logical_and": "&", "logical_or": "|", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "shift_left": "<<",
    "shift_right": ">>",
}  # fmt: skip
#: How tightly Python binds them, and what stands inside them.
_BINDS = {"*": 6, "/": 6, "+": 5, "-": 5, "<<": 4, ">>": 4, "&": 3, "^": 2, "|": 1}
_ATOM, _UNARY, _COMPARE = 9, 7, 0

_CALLS = {
    "abs": "tl.abs({})", "exp": "tl.exp({})", "exp2": "tl.exp2({})", "log": "tl.log({})", "log2": "tl.log2({})", "sqrt": "tl.sqrt({})",
    "rsqrt": "tl.rsqrt({})", "sin": "tl.sin({})", "cos": "tl.cos({})", "sigmoid": "tl.sigmoid({})", "erf": "tl.erf({})",
    "floor": "tl.floor({})", "ceil": "tl.ceil({})", "fmax": "tl.maximum({}, {})", "fmin": "tl.minimum({}, {})",
    "where": "tl.where({}, {}, {})",
}  # fmt: skip

Spelled = tuple[str, int]


def extreme(op: str, first: str, second: str, dtype: Dtype) -> str:
    """The larger (``maximum``) or smaller (``minimum``) of two, NaN where one is, as torch has it."""
    return f"tl.{op}({first}, {second}{', propagate_nan=tl.PropagateNan.ALL' if dtype.is_float else ''})"


def wrapped(one: Spelled, binds: int) -> str:
    """``one`` as an operand of what binds so tightly."""
    return one[0] if one[1] >= binds else f"({one[0]})"


def operation(op: str, operands: list[Spelled], dtype: Dtype) -> Spelled:
    """An elementwise operation on spelled operands. Raises :class:`CannotGenerate`."""
    if op == "bitwise_not" and dtype.kind == "bool":
        op = "logical_not"  # a choice of True or False is spelled as an integer, whose bits are others
    texts = [text for text, _ in operands]
    sign = SIGNS.get(op)
    if sign is not None:
        if sign == "/" and not dtype.is_float:
            raise CannotGenerate("a division of integers")
        binds = _BINDS.get(sign, _COMPARE)
        inner = binds if binds else 1
        left, right = wrapped(operands[0], inner), wrapped(operands[1], inner + 1)
        return f"{left} {sign} {right}", binds
    if op in ("remainder", "floor_divide") and not dtype.is_float:
        whole, part = (wrapped(one, _ATOM) for one in operands)
        return _towards_below(op, whole, part, dtype)
    if op in ("maximum", "minimum"):
        return extreme(op, texts[0], texts[1], dtype), _ATOM
    if op == "relu":
        return extreme("maximum", texts[0], "0.0" if dtype.is_float else "0", dtype), _ATOM
    if op in _CALLS:
        return _CALLS[op].format(*texts), _ATOM
    made = _SHAPED.get(op)
    if made is None:
        raise CannotGenerate(f"torch function {op}")
    return made(operands)


def _towards_below(op: str, whole: str, part: str, dtype: Dtype) -> Spelled:
    """A division of integers as torch rounds it, of what kernels round towards zero. Nothing that is chosen wraps around in a narrow
    type, and both that are chosen between have that type."""
    rest = f"{whole} % {part}"
    made = rest if op == "remainder" else f"{whole} // {part}"
    if dtype.kind == "uint":
        return made, 6
    apart = f"({rest} < 0)" if part.isdigit() else f"({rest} != 0) & (({rest} ^ {part}) < 0)"
    moved = f"{made} + {part}" if op == "remainder" else f"{made} - 1"
    return f"tl.where({apart}, {moved}, {made})", _ATOM


def _one(template: str, binds: int = _ATOM, inside: int = 0) -> Callable[[list[Spelled]], Spelled]:
    return lambda operands: (template.format(wrapped(operands[0], inside)), binds)


#: Ties go to the even neighbour, as adding and taking away 1.5 * 2^23 leaves them; from 2^22 on there are no fractions to speak of.
_ROUND = "tl.where(tl.abs({0}) < 4194304.0, ({0} + 12582912.0) - 12582912.0, {0})"

_SHAPED: Mapping[str, Callable[[list[Spelled]], Spelled]] = {
    "neg": _one("-{}", _UNARY, _UNARY),
    "square": _one("{0} * {0}", 6, _ATOM),
    "reciprocal": _one("1.0 / {}", 6, 7),
    # Right at both ends: exp(2x) is 0 or infinite there.
    "tanh": _one("1.0 - 2.0 / (tl.exp(2.0 * {}) + 1.0)", 5, 7),
    "expm1": _one("tl.exp({}) - 1.0", 5),
    "log1p": _one("tl.log(1.0 + {})", _ATOM, 6),
    "round": _one(_ROUND, _ATOM, _ATOM),
    "trunc": _one("tl.where({0} < 0, tl.ceil({0}), tl.floor({0}))", _ATOM, _ATOM),
    "sign": _one("tl.where({0} > 0, 1.0, tl.where({0} < 0, -1.0, 0.0))", _ATOM, _ATOM),
    "logical_not": _one("{} == 0", _COMPARE, 1),
    "bitwise_not": _one("~{}", _UNARY, _UNARY),
    "isnan": _one("{0} != {0}", _COMPARE, _ATOM),
    "bits": _one("{}.to(tl.int32, bitcast=True)", _ATOM, _ATOM),
    "of_bits": _one("{}.to(tl.float32, bitcast=True)", _ATOM, _ATOM),
    "isinf": _one("tl.abs({}) == float('inf')", _COMPARE),
}

#: Operations that name their operand more than once.
REPEATS = frozenset({"square", "round", "trunc", "sign", "isnan", "remainder", "floor_divide"})


def number(value: float | bool, dtype: Dtype) -> Spelled:
    if isinstance(value, bool):
        return str(value if dtype.kind == "bool" else int(value)), _ATOM
    if dtype.is_float:
        if math.isinf(value) or math.isnan(value):
            return f'float("{value}")', _ATOM
        text = repr(float(value))
        if dtype == dt.FLOAT64 and not is_single(value):
            return double(text), _ATOM
        return text, _ATOM if value >= 0 else _UNARY
    return repr(int(value)), _ATOM if value >= 0 else _UNARY


def double(text: str) -> str:
    """The number ``text`` as a float64, of which Triton keeps a float32 otherwise."""
    return f"tl.full((), {text}, tl.float64)"


#: The factors that a product of atoms other than quotients and extremes is spelled with.
Factors = Callable[[Monomial], Sequence[str]]


def expression(expr: Expr, names: Factors, extremes: str = "") -> Spelled:
    """``expr`` as Python, products of atoms as ``names`` says; ``extremes`` stands before min and max."""
    if not expr.terms:
        return "0", _ATOM
    parts: list[tuple[str, str]] = []
    # What is added first is what there is most of, so that an address reads from the outer axis to the inner one.
    for monomial, count in sorted(expr.terms.items(), key=lambda one: (not one[0], -len(one[0]), str(one[0]))):
        if sum(map(_rounds_up, monomial)) % 2:
            count = -count
        sign, text = ("-" if count < 0 else "+"), _product(monomial, abs(count), names, extremes)
        parts.append((sign, text))
    positive = sorted(range(len(parts)), key=lambda i: parts[i][0] == "-")
    parts = [parts[i] for i in positive]
    text = "".join(f" {sign} {part}" for sign, part in parts)
    text = text[3:] if text.startswith(" + ") else f"-{text[3:]}"
    if len(parts) > 1:
        return text, 5
    if parts[0][0] == "-":
        return text, _UNARY
    return text, 6 if " * " in parts[0][1] else _ATOM


def _rounds_up(atom: Atom) -> bool:
    """Whether ``atom`` is a quotient of something below zero: it is spelled as the negative of one that is rounded up, as kernels
    round towards zero."""
    return isinstance(atom, Opaque) and atom.op == "floordiv" and (-atom.args[0]).is_natural


def _product(monomial: Monomial, count: int, names: Factors, extremes: str) -> str:
    shaped = [atom for atom in monomial if isinstance(atom, Opaque) and atom.op in _QUOTIENTS]
    factors = [*names(tuple(atom for atom in monomial if atom not in shaped))] if len(shaped) < len(monomial) else []
    factors += [_shaped(atom, names, extremes) for atom in shaped]
    if count != 1 or not factors:
        factors.insert(0, str(count))
    return " * ".join(factors)


_QUOTIENTS = frozenset({"floordiv", "mod", "min", "max"})


def _shaped(atom: Opaque, names: Factors, extremes: str) -> str:
    if atom.op in ("min", "max"):
        word = f"tl.{atom.op}imum" if extremes else atom.op
        return f"{word}({', '.join(expression(arg, names, extremes)[0] for arg in atom.args)})"
    if _rounds_up(atom):
        whole, part = (expression(arg, names, extremes)[0] for arg in (-atom.args[0], atom.args[1]))
        return f"{'tl' if extremes else 'triton'}.cdiv({whole}, {part})"
    first, second = (wrapped(expression(arg, names, extremes), 7) for arg in atom.args)
    return f"({first} {'//' if atom.op == 'floordiv' else '%'} {second})"
