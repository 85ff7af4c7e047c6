"""Python's operators on numbers, open sizes and sequences."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.interpret.python.control import Raised
from kernlint.interpret.values import (
    MAX_ITEMS,
    Builtin,
    Comparison,
    Condition,
    Distinct,
    Instance,
    Namespace,
    Presumed,
    Unknown,
    is_concrete,
    is_huge,
)
from kernlint.workload import Dtype, Tensor
from kernlint.workload import expr as ex
from kernlint.workload.expr import Expr
from kernlint.workload.ranges import never_negative

#: Bits of the largest integer and length of the longest symbolic one that are computed with. Programs stay below; a float
#: still holds such a number, and neither its text nor the next product costs time.
MAX_BITS = 512


MAX_LENGTH = 20_000


BINARY: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    cst.Add: ("+", operator.add),
    cst.Subtract: ("-", operator.sub),
    cst.Multiply: ("*", operator.mul),
    cst.Divide: ("/", operator.truediv),
    cst.FloorDivide: ("//", operator.floordiv),
    cst.Modulo: ("%", operator.mod),
    cst.Power: ("**", operator.pow),
    cst.LeftShift: ("<<", operator.lshift),
    cst.RightShift: (">>", operator.rshift),
    cst.BitAnd: ("&", operator.and_),
    cst.BitOr: ("|", operator.or_),
    cst.BitXor: ("^", operator.xor),
    cst.MatrixMultiply: ("@", operator.matmul),
}


AUGMENTED: dict[type, type] = {
    cst.AddAssign: cst.Add,
    cst.SubtractAssign: cst.Subtract,
    cst.MultiplyAssign: cst.Multiply,
    cst.DivideAssign: cst.Divide,
    cst.FloorDivideAssign: cst.FloorDivide,
    cst.ModuloAssign: cst.Modulo,
    cst.PowerAssign: cst.Power,
    cst.LeftShiftAssign: cst.LeftShift,
    cst.RightShiftAssign: cst.RightShift,
    cst.BitAndAssign: cst.BitAnd,
    cst.BitOrAssign: cst.BitOr,
    cst.BitXorAssign: cst.BitXor,
    cst.MatrixMultiplyAssign: cst.MatrixMultiply,
}


COMPARE: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    cst.LessThan: ("<", operator.lt),
    cst.LessThanEqual: ("<=", operator.le),
    cst.GreaterThan: (">", operator.gt),
    cst.GreaterThanEqual: (">=", operator.ge),
    cst.Equal: ("==", operator.eq),
    cst.NotEqual: ("!=", operator.ne),
    cst.In: ("in", lambda a, b: a in b),
    cst.NotIn: ("not in", lambda a, b: a not in b),
    cst.Is: ("is", operator.is_),
    cst.IsNot: ("is not", operator.is_not),
}


def python_binary(name: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """``a name b`` for Python numbers, symbolic integers, sequences and sets."""
    if isinstance(a, Distinct) or isinstance(b, Distinct):
        return of_sets(function, a, b)
    if name == "*" and isinstance(a, int) and isinstance(b, (str, list, tuple)):
        a, b = b, a
    if (isinstance(a, (bool, int)) and isinstance(b, Expr)) or (
        isinstance(a, Expr) and isinstance(b, (bool, int, Expr))
    ):
        return symbolic_binary(name, a, b)
    if is_concrete(a) and is_concrete(b):
        powers = name in ("**", "<<") and isinstance(a, (int, float)) and isinstance(b, int)
        if powers and (abs(b) > 256 or abs(a) > 2**64):
            return Unknown("huge number")
        if name == "*" and isinstance(a, (str, list, tuple)) and isinstance(b, int) and len(a) * b > MAX_ITEMS:
            return Unknown("huge sequence")
        if name == "%" and isinstance(a, str):
            return Unknown("formatted string")  # a width asks for any length
        try:
            return bounded(function(a, b))
        except Exception:
            raise Raised from None
    if name == "+" and isinstance(a, tuple) and isinstance(b, tuple):
        return bounded(a + b)
    if name == "+" and isinstance(a, list) and isinstance(b, list):
        return bounded(a + b)
    if name == "*" and isinstance(a, (tuple, list)) and isinstance(b, int) and len(a) * b <= MAX_ITEMS:
        return a * b
    if name == "|" and isinstance(a, dict) and isinstance(b, dict):
        return {**a, **b}
    return Unknown("arithmetic")


def bounded(value: Any) -> Any:
    """``value``, or ``Unknown`` where it is a number or a sequence of a size that no program computes with."""
    if isinstance(value, Expr):
        huge = value.length > MAX_LENGTH or max(map(int.bit_length, value.terms.values()), default=0) > MAX_BITS
    elif isinstance(value, (str, list, tuple, dict)):
        huge = is_huge(value)
    else:
        huge = isinstance(value, int) and value.bit_length() > MAX_BITS
    return Unknown("huge value") if huge else value


def symbolic_binary(name: str, a: ex.Size, b: ex.Size) -> Any:
    if name == "+":
        return bounded(ex.simplify(ex.lift(a) + b))
    if name == "-":
        return bounded(ex.simplify(ex.lift(a) - b))
    if name == "*":
        left, right = ex.lift(a), ex.lift(b)
        if len(left.terms) * len(right.terms) > MAX_LENGTH:
            return Unknown("huge value")
        return bounded(ex.simplify(left * right))
    if name == "//":
        return bounded(ex.floordiv(a, b))
    if name == "%":
        return bounded(ex.mod(a, b))
    shift = ex.concrete(b)
    if name == "<<" and shift is not None and 0 <= shift < 64:
        return bounded(ex.simplify(ex.lift(a) * (1 << shift)))
    if name == ">>" and shift is not None and 0 <= shift < 64:
        return bounded(ex.floordiv(a, 1 << shift))
    op = {"&": "and", "|": "or", "^": "xor"}.get(name)
    return bounded(ex.opaque(op, a, b)) if op else Unknown("arithmetic")


_ORDERS = frozenset({"<", "<=", ">", ">="})


def python_compare(name: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if isinstance(a, Presumed) or isinstance(b, Presumed):
        a, b = (bool(v) if isinstance(v, Presumed) else v for v in (a, b))
        found = python_compare(name, function, a, b)
        return Presumed(found) if isinstance(found, bool) else found
    if isinstance(a, list) and isinstance(b, list) and (isinstance(a, Distinct) or isinstance(b, Distinct)):
        return Unknown("comparison") if name in ("in", "not in", "is", "is not") else of_sets(function, a, b)
    if isinstance(a, Expr) or isinstance(b, Expr):
        if not isinstance(a, (int, Expr)) or not isinstance(b, (int, Expr)):
            return name in ("!=", "is not") if (a is None or b is None) else Unknown("comparison")
        difference = ex.simplify(ex.lift(a) - b)
        if isinstance(difference, int) and name not in ("in", "not in", "is", "is not"):
            return function(difference, 0)
        if name == "==" and isinstance(difference, Expr):
            return Condition("symbolic comparison", (difference,))
        return _ordered(name, a, b) if name in _ORDERS else Unknown("symbolic comparison")
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return Unknown("comparison")
    if name in ("is", "is not") and (a is None or b is None):
        return function(a, b)
    if any(
        isinstance(one, (Builtin, Instance, Namespace)) and isinstance(other, (int, float, str))
        for one, other in ((a, b), (b, a))
    ):
        return Unknown("comparison")  # an attribute of an object that is not in view: what it is, nobody knows
    if is_huge(a) or is_huge(b):
        return Unknown("comparison")
    if isinstance(a, Instance) and isinstance(b, Instance) and name in ("==", "!=") and a is not b:
        return Unknown("comparison")  # what makes two objects equal is for their class to say
    if isinstance(a, Tensor) and (name in ("in", "not in") or b is not None):
        return Unknown("comparison")  # of its elements, or of the number that it may stand for
    try:
        if name in ("==", "!=") and type(a) is type(b) and isinstance(a, (tuple, list)):
            return _denied(_equal(a, b), name == "!=")
        if name in ("in", "not in") and isinstance(b, (tuple, list)) and any(isinstance(x, (Expr, Unknown)) for x in b):
            return _denied(_among(a, b), name == "not in")
        return bool(function(a, b))
    except Exception:
        return Unknown("comparison")


def _ordered(name: str, a: ex.Size, b: ex.Size) -> Any:
    """``a name b``, an order of two open sizes: whether it holds, where that is one answer at all sizes."""
    less, more = (a, b) if name in ("<", "<=") else (b, a)
    holds, fails = ex.lift(more) - less, ex.lift(less) - more
    if name in ("<", ">"):
        holds -= 1
    else:
        fails -= 1
    if never_negative(holds) or never_negative(fails):
        return never_negative(holds)
    return Comparison("symbolic comparison", name, a, b)


#: Items of a set that are compared with one another.
_MOST_COMPARED = 64


def distinct(items: Sequence[Any]) -> Any:
    """The items of a set, each once; Unknown where some of ``items`` may be equal or not."""
    if is_concrete(items):
        try:
            return Distinct(dict.fromkeys(items))
        except TypeError:
            raise Raised from None
    if len(items) > _MOST_COMPARED:
        return Unknown("set")
    found = Distinct()
    for item in items:
        # Tensors in a set are told apart by what they are, not by what is in them.
        tensors = isinstance(item, Tensor)
        equal = [
            item is one or (item == one if tensors else python_compare("==", operator.eq, item, one)) for one in found
        ]
        if True not in equal:
            if any(answer is not False for answer in equal):
                return Unknown("set")
            found.append(item)
    return found


def of_sets(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """What ``function`` makes of Python's sets of these items; Unknown where one of them is another list, which may stand for a set that
    was not followed, or holds what is not known. Raises what Python raises."""
    sets = first, *others
    if not all(isinstance(one, Distinct) for one in sets):
        return Unknown("sets")
    if not all(isinstance(item, Dtype) or is_concrete(item) for one in sets for item in one):
        return Unknown("sets")
    try:
        found = function(*map(set, sets))
    except TypeError:
        raise Raised from None
    held = dict.fromkeys(item for one in sets for item in one)
    return Distinct(item for item in held if item in found) if isinstance(found, set) else found


def _equal(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Whether two sequences are equal, by their elements, some of which may be open."""
    if len(a) != len(b):
        return False
    found = [one is other or python_compare("==", operator.eq, one, other) for one, other in zip(a, b)]
    left = [one for one in found if one is not True]
    if any(one is False for one in left):
        return False
    if left and all(isinstance(one, Condition) for one in left):
        return Condition("symbolic comparison", tuple(zero for one in left for zero in one.zeros))
    return Unknown("comparison") if left else True


def _among(a: Any, b: Sequence[Any]) -> Any:
    """Whether ``a`` is equal to an element of ``b``, some of which may be open."""
    found = [python_compare("==", operator.eq, a, one) for one in b]
    if any(one is True for one in found):
        return True
    return False if all(one is False for one in found) else Unknown("comparison")


def _denied(found: Any, is_denied: bool) -> Any:
    return (not found if isinstance(found, bool) else Unknown("comparison")) if is_denied else found


def same(a: Any, b: Any) -> bool:
    try:
        return a is b or (_kind(a) is _kind(b) and not is_huge(a) and not is_huge(b) and bool(a == b))
    except Exception:
        return False


def _kind(value: Any) -> type:
    return int if isinstance(value, Literal) else bool if isinstance(value, Presumed) else type(value)
