"""What the numbers in a kernel are, as far as it decides whether its arithmetic is sound.

A value bears a :class:`Form` where the interpreter saw it made in a way that matters later: the square of a tile, the sum
of one, the largest magnitude in one, a product rounded to half precision, a value that may be minus infinity. Arithmetic
that spoils such a value is recorded as a fault of the kernel (``KernelEvaluator.fault``). A form is lost at the first
operation that is not understood, so that silence is the default.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernlint.interpret.triton.values import Form
from kernlint.records import dataclass, replace
from kernlint.workload import Dtype, Span
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.triton.values import Block

#: The smallest positive float16 is 2^-24; what is not above half of it rounds to zero.
_FLOAT16_VANISHES = 2.0**-25
#: From here on a number rounds to infinity in float16.
_FLOAT16_OVERFLOWS = 65520.0

#: What a mask puts into scores before a softmax is minus infinity or a number from here down.
MASKED_OUT = -1e4

_HALF = (dt.FLOAT16, dt.BFLOAT16)


@dataclass(frozen=True)
class Verdict:
    """What an operation makes: the form of its result and the kind of fault it commits, either may be missing;
    ``certain`` and ``text`` are those of the fault."""

    form: Form | None = None
    fault: str = ""
    text: str = ""
    certain: bool = True


NOTHING = Verdict()
#: The faults whose result is NaN, which spoils what is computed from it.
_SPOILING = frozenset({"infinite-ratio", "infinite-product", "zero-divisor"})
SUSPECT = Form("suspect")


def of_binary(name: str, a: Block, b: Block, weak: tuple[bool, bool], result: Dtype | None) -> Verdict:
    """``a name b`` with a result of type ``result``; ``weak`` marks operands that are Python literals."""
    if result is not None and not result.is_float:
        return NOTHING
    verdict = _of_binary(name, a, b, weak, result)
    spoilt = next((x.form for x in (a, b) if spoilt_by(x) is not None), None)
    return verdict if spoilt is None or verdict.fault or verdict.form is not None else replace(verdict, form=spoilt)


def spoilt_by(value: Block) -> tuple[str, Span] | None:
    """The key of the fault on record by which ``value`` may be NaN; no comparison, minimum, maximum or ``tl.where`` came
    between, which NaN does not pass. What a loop carries on no longer counts for one that a row without elements makes: it
    has spoilt the iterations before."""
    fault = value.form.fault if value.form is not None else None
    spoilt = fault is not None and (fault[0] in _SPOILING or (fault[0] == "infinite-difference" and not value.carried))
    return fault if spoilt else None


def growth_of_binary(name: str, a: Block, b: Block) -> str:
    """How ``a name b`` grows with loaded data; empty where it may be bounded."""
    if not a.growth or not b.growth:
        grows, other = (a, b) if a.growth else (b, a)
        fixed = other.constant is not None and other.constant != 0 and not other.loads
        through = name in ("+", "-", "*") or (name == "/" and grows is a)
        return grows.growth if grows.growth and fixed and through else ""
    if a.loads != b.loads or name not in ("+", "-", "*"):
        return ""  # a difference of two inputs may well be bounded: scores less their stored maximum
    if name == "-" and a.growth == b.growth == "data":
        return "data" if _crosswise(a, b) else ""
    return "grown" if "grown" in (a.growth, b.growth) else "data"


def _crosswise(a: Block, b: Block) -> bool:
    """Whether a row and a column of the same values meet, so that their difference takes both signs."""
    return len(a.shape) == 2 and a.shape[::-1] == b.shape and 1 in a.shape and max(a.shape) > 1 and a.loads == b.loads


def growth_of_unary(name: str, value: Block) -> str:
    """How ``name(value)`` grows with loaded data; empty where it may be bounded."""
    if value.growth != "data":
        return ""
    return {"-": "data", "exp": "grown", "exp2": "grown"}.get(name, "")


def _of_binary(name: str, a: Block, b: Block, weak: tuple[bool, bool], result: Dtype | None) -> Verdict:
    lost = _lost_literal(name, a, b, weak, result)
    if lost is not None:
        return lost
    if name == "*":
        return _product(a, b, weak, result)
    if name == "/":
        return _quotient(a, b)
    if name == "+":
        return _total(a, b)
    if name == "-":
        return _difference(a, b)
    return NOTHING


def of_maximum(blocks: list[Block]) -> Form | None:
    """The form of ``tl.maximum``: it stays a largest magnitude beside another one or zero, perhaps minus infinity where
    each operand is."""
    if all((b.form is not None and b.form.kind == "largest magnitude") or b.constant == 0 for b in blocks):
        return next((b.form for b in blocks if b.form is not None), None)
    return Form("perhaps -inf") if all(_perhaps_infinite(b) for b in blocks) else None


def of_where(condition: Block | None, x: Block, y: Block) -> Form | None:
    """The form of ``tl.where``: perhaps minus infinity where a mask read from memory decides and one arm is that, kept where
    one arm is as loaded and nothing else comes from that load."""
    masked = condition is not None and is_read_mask(condition)
    if masked and -math.inf in (x.constant, y.constant):
        return Form("perhaps -inf")
    for arm, other in ((x, y), (y, x)):
        kept = kept_loads(arm)
        if kept and condition is not None and not kept & (other.loads | condition.loads):
            return Form("kept", kept)
    return None


def kept_loads(value: Block) -> frozenset[int]:
    """The load whose elements ``value`` holds as they were, all of them or those that something else has not replaced."""
    if value.form is not None and value.form.kind == "kept":
        return value.form.of
    in_place = value.source is not None and value.order == tuple(range(len(value.order)))
    return frozenset({value.source}) if in_place and value.source is not None else frozenset()


def of_cast(value: Block, target: Dtype) -> Form | None:
    """The form of ``value.to(target)``: a product that is told to be half precision is so on purpose."""
    return replace(value.form, rounded=False) if value.form is not None and target in _HALF else value.form


def of_load(other: float | None, mask: Block | None) -> Form | None:
    """The form of a load: perhaps minus infinity where the mask was read from memory and ``other`` is that."""
    return Form("perhaps -inf") if mask is not None and is_read_mask(mask) and other == -math.inf else None


def of_comparison(name: str, a: Block, b: Block) -> Form | None:
    """The form of ``a name b``: ``<``, ``==`` and the like."""
    if a.form is not None and a.form.kind == "count" and _is_above_zero(name, b.constant):
        return Form("occupied", a.form.of)
    if name not in ("==", "!=") and (_is_index(a) or _is_index(b)):
        return None  # positions that were read, held against one of the program: a bound
    return Form("read mask") if _is_read_tile(a) or _is_read_tile(b) else None


def _is_above_zero(name: str, number: float | None) -> bool:
    """Whether what is ``name number`` is greater than zero, of integers that are not negative."""
    if number is None:
        return False
    return number > 0 if name in (">=", "==") else number >= 0 if name == ">" else name == "!=" and number == 0


def _is_index(value: Block) -> bool:
    return value.expr is not None and value.expr.value is None and not value.loads


def of_logic(a: Block, b: Block) -> Form | None:
    """The form of ``a & b`` and ``a | b`` of booleans."""
    return Form("read mask") if is_read_mask(a) or is_read_mask(b) else None


def is_read_mask(mask: Block) -> bool:
    """Whether each element of ``mask`` was decided by an element read from memory, so that it may leave nothing of a row.

    Bounds of indices, those that were read included, leave something of each row that counts, as a rule.
    """
    return _is_read_tile(mask) or (mask.form is not None and mask.form.kind == "read mask")


def _is_read_tile(value: Block) -> bool:
    return value.source is not None and any(extent > 1 for extent in value.shape)


def of_unary(name: str, value: Block) -> Verdict:
    """``tl.name(value)``."""
    if name in ("abs", "fabs"):
        return Verdict(Form("magnitude", value.loads))
    if name in ("exp", "exp2") and value.form is not None and value.form.kind == "-inf minus -inf":
        return Verdict(
            fault="infinite-difference",
            text="both sides of the difference are -inf where a row has seen no valid element, and -inf - -inf is NaN",
        )
    return NOTHING


def of_reduction(name: str, value: Block) -> Form | None:
    """The form of ``tl.name`` over an axis of ``value``."""
    kind = value.form.kind if value.form is not None else ""
    if name == "sum":
        if kind == "read mask":
            return Form("count", value.loads)
        if kind in ("", "sum"):
            return Form("sum", value.loads) if (value.loads and value.source is not None) or kind == "sum" else None
        return Form("sum of squares", value.form.of) if kind in ("square", "sum of squares") and value.form else None
    if name == "max":
        if kind in ("magnitude", "largest magnitude"):
            return Form("largest magnitude", value.loads)
        if kind == "read mask":
            return Form("count", value.loads)
        return Form("perhaps -inf") if kind == "perhaps -inf" else None
    return None


#: What one rounding is off by at most, and what torch.testing allows of a result, both relative to the value.
_ROUNDING = {dt.FLOAT16: (2.0**-11, 1e-3), dt.BFLOAT16: (2.0**-8, 1.6e-2)}


def _seen_in_sum(dtype: Dtype, extent: int) -> bool:
    """Whether the roundings of a tree that adds up ``extent`` values in ``dtype`` may come to more than is allowed of a result."""
    rounding, allowed = _ROUNDING[dtype]
    return math.ceil(math.log2(extent)) * rounding > allowed


def of_sum(name: str, value: Block, axis: int | None) -> Verdict:
    """``tl.name`` along ``axis`` of ``value``, where it adds up values of half precision in that precision."""
    extent = math.prod(value.shape) if axis is None else value.shape[axis] if axis < len(value.shape) else 1
    if name not in ("sum", "cumsum") or extent < 2 or not value.loads or not _may_be_half(value):
        return NOTHING
    certain = value.dtype is not None and _seen_in_sum(value.dtype, extent)
    text = f"tl.{name} adds up {value.dtype} values in {value.dtype}" if value.dtype is not None else (
        f"tl.{name} adds up values in the type they are loaded in, which nothing here says is float32"
    )  # fmt: skip
    return Verdict(None, "low-precision-sum", text, certain)


def _may_be_half(value: Block) -> bool:
    """Whether ``value`` has half precision, or is loaded in a type that is not known."""
    return value.dtype in _HALF or (value.dtype is None and value.source is not None and not value.casts)


def _lost_literal(name: str, a: Block, b: Block, weak: tuple[bool, bool], result: Dtype | None) -> Verdict | None:
    tile, literal = (b, a) if weak[0] else (a, b)
    if weak[0] == weak[1] or name not in ("+", "-", "*", "/", "max"):
        return None
    if result != dt.FLOAT16 and not (result is None and _may_be_half(tile)):
        return None
    value = literal.constant
    if value is None or value == 0 or math.isinf(value) or math.isnan(value):
        return None
    if abs(value) <= _FLOAT16_VANISHES:
        outcome = "zero"
    elif abs(value) >= _FLOAT16_OVERFLOWS:
        outcome = "infinite"
    else:
        return None
    certain = result is not None
    text = f"{value:g} takes the type of the tile, and is {outcome} in float16"
    return Verdict(None, "lost-literal", text if certain else f"{text}, which the tile may be", certain)


def _product(a: Block, b: Block, weak: tuple[bool, bool], result: Dtype | None) -> Verdict:
    if a == b and a.loads:
        if a.form is not None and a.form.kind == "mean":
            return Verdict(Form("square of mean", a.form.of))
        return Verdict(Form("square", a.loads, rounded=result in _HALF))
    if not any(weak) and a.loads and b.loads and (result in _HALF or (_may_be_half(a) and _may_be_half(b))):
        return Verdict(Form(rounded=True))
    for value, factor in ((a, b), (b, a)):
        if value.growth == "grown" and _is_flag(factor):
            text = (
                "where the factor is false the product is NaN, not 0, once the exponential overflows (of 89 and more)"
            )
            return Verdict(SUSPECT, "infinite-product", text, certain=False)
        if value.form is not None and not factor.loads and factor.constant != 0:
            return Verdict(_scaled(value.form, factor))
    return NOTHING


def _is_flag(factor: Block) -> bool:
    """Whether ``factor`` is a tile of booleans, or of numbers that one was cast to."""
    first = factor.casts[0].source if factor.casts else factor.dtype
    return first == dt.BOOL and any(extent > 1 for extent in factor.shape)


def _scaled(form: Form, factor: Block) -> Form | None:
    """The form of a value after multiplication by ``factor``, a number that is not zero."""
    if form.kind in ("sum", "mean"):
        return replace(form, kind="mean")
    if form.kind in ("sum of squares", "mean of squares"):
        return replace(form, kind="mean of squares")
    if form.kind == "largest magnitude":
        return form
    positive = factor.constant is not None and factor.constant > 0
    return form if form.kind == "perhaps -inf" and positive else None


def _quotient(a: Block, b: Block) -> Verdict:
    if a.growth == b.growth == "grown" and a.loads == b.loads:
        text = "numerator and denominator are both infinite, and their quotient NaN, once the exponential overflows (of 89 and more)"
        return Verdict(SUSPECT, "infinite-ratio", text, certain=False)
    if b.form is not None and b.form.kind == "largest magnitude":
        return Verdict(
            SUSPECT,
            "zero-divisor",
            "the divisor is the largest magnitude of a tile, zero where the tile is all zero: the quotient is NaN or infinite there",
            certain=False,
        )
    if a.form is not None and not b.loads and b.constant != 0:
        return Verdict(_scaled(a.form, replace(b, constant=abs(b.constant) if b.constant else None)))
    return NOTHING


def _total(a: Block, b: Block) -> Verdict:
    for total, term in ((a, b), (b, a)):
        if total.dtype == dt.FLOAT32 and total.carried and term.form is not None and term.form.rounded:
            last = term.casts[-1].source if term.casts else None  # where it was widened since
            rounded = next((dtype for dtype in (term.dtype, last) if dtype in _HALF), None)
            certain = rounded is not None
            what = str(rounded) if certain else "the type they are loaded in, which nothing here says is float32,"
            return Verdict(
                None, "rounded-product", f"a product is rounded to {what} before it is added in float32", certain
            )
    if a.constant == 0 or b.constant == 0:
        return Verdict(b.form if a.constant == 0 else a.form)
    added = ("sum", "sum of squares", "square")
    if a.form is not None and b.form is not None and a.form.kind == b.form.kind and a.form.kind in added:
        return Verdict(Form(a.form.kind, a.form.of | b.form.of))
    return NOTHING


def _difference(a: Block, b: Block) -> Verdict:
    if _perhaps_infinite(a) and _perhaps_infinite(b):
        return Verdict(Form("-inf minus -inf"))
    if a.form is None or b.form is None:
        return NOTHING
    if a.form.kind == "mean of squares" and b.form.kind == "square of mean" and a.form.of & b.form.of:
        return Verdict(
            fault="cancelling-variance",
            text="the mean of squares less the square of the mean: where the mean is large beside the deviation, nothing but "
            "rounding is left, which may be less than zero",
        )
    return NOTHING


def cancelled(value: Block) -> tuple[str, Span] | None:
    """The key of the fault on record by which ``value``, which is no less than zero, may come out as less."""
    fault = value.form.fault if value.form is not None else None
    return fault if fault is not None and fault[0] == "cancelling-variance" else None


def _perhaps_infinite(value: Block) -> bool:
    return value.constant == -math.inf or (value.form is not None and value.form.kind == "perhaps -inf")
