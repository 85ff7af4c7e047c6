"""Functions that make each element of those at the same place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.generate.calls.writer import Writer, per_channel
from kernlint.generate.values import (
    CannotGenerate,
    Value,
)
from kernlint.workload import Expr, Tensor
from kernlint.workload import dtype as dt


def _clamp(w: Writer) -> Value:
    low, high = w.argument(1, "min"), w.argument(2, "max")
    result: Any = w.args[0]
    result = w.map("maximum", result, low) if low is not None else result
    result = w.map("minimum", result, high) if high is not None else result
    return result if isinstance(result, Value) else w.cast(w.operand(result), w.dtype)


def _bounded(op: str, name: str) -> Callable[[Writer], Value]:
    return lambda w: w.map(op, w.args[0], w.argument(1, name))


def _power(w: Writer) -> Value:
    base, exponent = w.args[0], w.argument(1, "exponent")
    if isinstance(base, (int, float)) and 0 < base < math.inf and isinstance(exponent, Tensor):
        if not w.dtype.is_float:
            if base != 2:
                raise CannotGenerate("a power of integers")
            # What is below zero, or too large, is shifted out.
            kept = w.map("logical_and", w.map("ge", exponent, 0), w.map("lt", exponent, w.dtype.bits), dtype=dt.BOOL)
            one = w.map("cast", 1, dtype=w.dtype)
            return w.map("where", kept, w.map("shift_left", one, w.map("cast", exponent)), 0)
        if base == 1:
            return w.cast(w.operand(1.0), w.dtype)
        return w.map("exp", w.map("mul", exponent, math.log(base)))
    if isinstance(base, Tensor) and isinstance(exponent, (int, float)):
        found = _POWERS.get(float(exponent))
        if found is not None:
            return found(w, base)
        if float(exponent).is_integer() and abs(exponent) <= _MOST_FACTORS:
            return _whole_power(w, base, int(exponent))
        if not float(exponent).is_integer():
            return _broken_power(w, base, float(exponent))
    if isinstance(base, Tensor) and isinstance(exponent, Tensor) and w.dtype.is_float:
        return _general_power(w, base, exponent)
    raise CannotGenerate("a power whose exponent is not known")


def _general_power(w: Writer, base: Tensor, exponent: Tensor) -> Value:
    """Of a base that may be negative, or a zero with a sign, by an exponent that may be a whole number."""
    large = w.map("abs", base)
    size = w.map("exp", w.map("mul", exponent, w.map("log", large)))
    size = w.map("where", w.map("eq", large, 1.0), 1.0, size)
    whole = w.map("eq", w.map("floor", exponent), exponent)
    half = w.map("mul", exponent, 0.5)
    even = w.map("eq", w.map("floor", half), half)
    below = w.map("lt", base, 0.0)
    # One over a zero tells its sign; of minus infinity a power that is not whole is that of infinity.
    signed = w.map("logical_or", below, w.map("lt", w.map("reciprocal", base), 0.0))
    finite = w.map("logical_and", below, w.map("gt", base, -math.inf))
    broken = w.map("where", finite, math.nan, size)
    made = w.map("where", whole, w.map("where", even, size, w.map("neg", size)), broken)
    made = w.map("where", signed, made, size)
    certain = w.map("logical_or", w.map("eq", exponent, 0.0), w.map("eq", base, 1.0))
    return w.map("where", certain, 1.0, made)


#: Exponents up to which a power is spelled as a product.
_MOST_FACTORS = 64


def _whole_power(w: Writer, base: Tensor, exponent: int) -> Value:
    """By squares."""
    made: Value | None = None
    square: Any = base
    rest = abs(exponent)
    while rest:
        if rest % 2:
            made = w.map("cast", square) if made is None else w.map("mul", made, square)
        rest //= 2
        square = w.map("square", square) if rest else square
    if made is None:
        return w.cast(w.operand(1.0), w.dtype)
    return w.map("reciprocal", made) if exponent < 0 else made


def _broken_power(w: Writer, base: Tensor, exponent: float) -> Value:
    """By a number that is not whole: of a negative base no number, but of minus infinity what it is of infinity."""
    if (2 * exponent).is_integer() and abs(exponent) <= _MOST_FACTORS:
        whole = _whole_power(w, base, int(abs(exponent)))
        made = w.map("mul", whole, w.map("sqrt", base))
        made = w.map("reciprocal", made) if exponent < 0 else made
    else:
        made = w.map("exp", w.map("mul", w.map("log", base), exponent))
    return w.map("where", w.map("eq", base, -math.inf), math.inf if exponent > 0 else 0.0, made)


_POWERS: dict[float, Callable[[Writer, Tensor], Value]] = {
    1.0: lambda w, x: w.map("cast", x),
    2.0: lambda w, x: w.map("square", x),
    3.0: lambda w, x: w.map("mul", w.map("square", x), x),
    4.0: lambda w, x: w.map("square", w.map("square", x)),
    0.5: lambda w, x: w.map("sqrt", x),
    -0.5: lambda w, x: w.map("rsqrt", x),
    -1.0: lambda w, x: w.map("reciprocal", x),
    -2.0: lambda w, x: w.map("reciprocal", w.map("square", x)),
}


def _gelu(w: Writer) -> Value:
    x = w.args[0]
    half = w.map("mul", x, 0.5)
    if w.kwargs.get("approximate", "none") == "tanh":
        cube = w.map("mul", w.map("mul", w.map("square", x), x), 0.044715)
        inner = w.map("mul", w.map("add", x, cube), math.sqrt(2 / math.pi))
        return w.map("mul", half, w.map("add", w.map("tanh", inner), 1.0))
    return w.map("mul", half, w.map("add", w.map("erf", w.map("mul", x, math.sqrt(0.5))), 1.0))


def _scaled_sum(op: str) -> Callable[[Writer], Value]:
    """add and sub with their ``alpha``."""

    def make(w: Writer) -> Value:
        alpha = w.kwargs.get("alpha", 1)
        second = w.args[1] if len(w.args) > 1 else w.kwargs.get("other")
        if alpha != 1:
            second = w.map("mul", second, alpha)
        return w.map(op, w.args[0], second)

    return make


def _divided_below(op: str) -> Callable[[Writer], Value]:
    """Divisions of integers, and what they leave: in the type of the result, in which the signs are those that torch sees."""

    def own(w: Writer, given: Any) -> Any:
        if isinstance(given, Tensor):
            return given if given.dtype == w.dtype else w.map("cast", given)
        low = 0 if w.dtype.kind == "uint" else -(2 ** (w.dtype.bits - 1))
        number = given.value if isinstance(given, Expr) else given
        if isinstance(number, int) and not low <= number < low + 2**w.dtype.bits:
            raise CannotGenerate(f"a division by a number that no {w.dtype} holds")
        return given

    def make(w: Writer) -> Value:
        first, second = w.args[0], w.argument(1, "other")
        return w.map(op, own(w, first), own(w, second)) if w.dtype.is_integer else w.map(op, first, second)

    return make


def _divided(w: Writer) -> Value:
    mode = w.kwargs.get("rounding_mode")
    result = w.map("div", w.args[0], w.argument(1, "other"), dtype=None if mode is None else dt.FLOAT32)
    if mode is None:
        return result
    if mode == "floor" and w.dtype.is_integer:
        return _divided_below("floor_divide")(w)
    if not w.dtype.is_float:
        raise CannotGenerate("a division of integers")
    if mode != "trunc" or w.dtype == dt.FLOAT64:
        # Torch goes by the remainder there: the quotient of 1.2 and 0.1 is rounded up to 12, and its floor is 11.
        raise CannotGenerate(f"a division to the next integer ({mode})")
    return w.map(mode, result)


def _chain(*steps: tuple[Any, ...]) -> Callable[[Writer], Value]:
    """A function of ``x`` as steps ``(op, operand, ...)``; ``...`` is the result so far, ``"x"`` the argument."""

    def make(w: Writer) -> Value:
        x = w.args[0]
        result: Any = x
        for op, *operands in steps:
            result = w.map(op, *(result if one is ... else x if one == "x" else one for one in operands))
        return result

    return make


def _leaky(w: Writer) -> Value:
    x = w.args[0]
    return w.map("where", w.map("gt", x, 0.0), x, w.map("mul", x, w.argument(1, "negative_slope", 0.01)))


def _elu(w: Writer) -> Value:
    x = w.args[0]
    low = w.map("mul", w.map("sub", w.map("exp", x), 1.0), w.argument(1, "alpha", 1.0))
    return w.map("where", w.map("gt", x, 0.0), x, low)


def _selu(w: Writer) -> Value:
    x, alpha, scale = w.args[0], 1.6732632423543772, 1.0507009873554805
    low = w.map("mul", w.map("sub", w.map("exp", w.map("minimum", x, 0.0)), 1.0), alpha)
    return w.map("mul", w.map("where", w.map("gt", x, 0.0), x, low), scale)


def _softplus(w: Writer) -> Value:
    x, beta, threshold = w.args[0], w.argument(1, "beta", 1.0), w.argument(2, "threshold", 20.0)
    scaled = w.map("mul", x, beta) if beta not in (1, 1.0) else x
    # log(1 + exp(x)) without overflow: what is above the threshold is x itself.
    soft = w.map("log", w.map("add", w.map("exp", w.map("minimum", scaled, threshold)), 1.0))
    soft = w.map("div", soft, beta) if beta not in (1, 1.0) else soft
    return w.map("where", w.map("gt", scaled, threshold), x, soft)


def _celu(w: Writer) -> Value:
    x, alpha = w.args[0], w.argument(1, "alpha", 1.0)
    low = w.map("mul", w.map("sub", w.map("exp", w.map("div", w.map("minimum", x, 0.0), alpha)), 1.0), alpha)
    return w.map("where", w.map("gt", x, 0.0), x, low)


def _prelu(w: Writer) -> Value:
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    slope: Any = weight if (weight.shape or ()) == (1,) else per_channel(w, weight, len(w.shape))
    return w.map("where", w.map("gt", x, 0.0), x, w.map("mul", x, slope))


def _hardshrink(w: Writer) -> Value:
    x = w.args[0]
    return w.map("where", w.map("le", w.map("abs", x), w.argument(1, "lambd", 0.5)), 0.0, x)


def _softshrink(w: Writer) -> Value:
    x, limit = w.args[0], w.argument(1, "lambd", 0.5)
    beyond = w.map("sub", w.map("abs", x), limit)
    signed = w.map("where", w.map("lt", x, 0.0), w.map("neg", beyond), beyond)
    return w.map("where", w.map("le", beyond, 0.0), w.map("mul", x, 0.0), signed)


def _threshold(w: Writer) -> Value:
    x = w.args[0]
    return w.map("where", w.map("le", x, w.argument(1, "threshold")), w.argument(2, "value"), x)


def _logaddexp(w: Writer) -> Value:
    x, y = w.args[0], w.argument(1, "other")
    lower = w.map("exp", w.map("neg", w.map("abs", w.map("sub", x, y))))
    apart = w.map("add", w.map("maximum", x, y), w.map("log1p", lower))
    # Of two that are equal nothing is taken away, which would be no number of two that are infinite.
    return w.map("where", w.map("eq", x, y), w.map("add", x, math.log(2.0)), apart)


#: Factors of powers of ``t = 1 / (1 + |x| / 2)``, from the constant on: ``t * exp(-x * x + p(t))`` is erfc of ``|x|``, 1.2e-7 of it off at
#: most (Press et al., Numerical Recipes in C, 2nd edition, section 6.2), where ``1 - erf(x)`` would leave nothing from 4 on.
_ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
)


def _erfc(w: Writer) -> Value:
    if w.dtype == dt.FLOAT64:
        raise CannotGenerate("erfc of float64")
    x, size = w.args[0], w.map("abs", w.args[0])
    t = w.map("reciprocal", w.map("add", w.map("mul", size, 0.5), 1.0))
    power: Any = _ERFC[-1]
    for one in reversed(_ERFC[:-1]):
        power = w.map("add", w.map("mul", t, power), one)
    beyond = w.map("mul", t, w.map("exp", w.map("sub", power, w.map("square", size))))
    return w.map("where", w.map("lt", x, 0.0), w.map("sub", 2.0, beyond), beyond)


#: The largest number of each element type.
_LARGEST = {dt.FLOAT16: 65504.0, dt.BFLOAT16: 3.3895313892515355e38, dt.FLOAT32: 3.4028234663852886e38}


def _nan_to_num(w: Writer) -> Value:
    x, most = w.args[0], _LARGEST.get(w.dtype)
    if most is None:
        raise CannotGenerate(f"nan_to_num of {w.dtype}")
    nan, high, low = (w.argument(i, name) for i, name in ((1, "nan"), (2, "posinf"), (3, "neginf")))
    made = w.map("where", w.map("eq", x, -math.inf), -most if low is None else float(low), x)
    made = w.map("where", w.map("eq", x, math.inf), most if high is None else float(high), made)
    return w.map("where", w.map("isnan", x), 0.0 if nan is None else float(nan), made)


def _dropout(w: Writer) -> Value:
    if w.argument(2, "training", True) is not False and w.argument(1, "p", 0.5) != 0:
        raise CannotGenerate("a dropout")
    return w.map("cast", w.args[0])


def _logsigmoid(w: Writer) -> Value:
    x = w.args[0]
    lost = w.map("log", w.map("add", w.map("exp", w.map("neg", w.map("abs", x))), 1.0))
    return w.map("sub", w.map("minimum", x, 0.0), lost)


def _lerp(w: Writer) -> Value:
    start, end, weight = w.args[0], w.argument(1, "end"), w.argument(2, "weight")
    return w.map("add", start, w.map("mul", weight, w.map("sub", end, start)))


def _with_product(op: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        value = w.kwargs.get("value", 1)
        product = w.map(op, w.args[1], w.args[2])
        return w.map("add", w.args[0], w.map("mul", product, value) if value != 1 else product)

    return make


def _where(w: Writer) -> Value:
    args = [*w.args, *(w.kwargs[name] for name in ("input", "other") if name in w.kwargs)]
    if len(args) != 3:
        raise CannotGenerate("where with one argument")
    if isinstance(args[0], Tensor) and args[0].dtype != dt.BOOL:  # a method: x.where(condition, other)
        args[0], args[1] = args[1], args[0]
    return w.map("where", *args)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "clamp": _clamp,
    "clamp_min": _bounded("maximum", "min"),
    "clamp_max": _bounded("minimum", "max"),
    "pow": _power,
    "gelu": _gelu,
    "add": _scaled_sum("add"),
    "sub": _scaled_sum("sub"),
    "rsub": lambda w: w.map("sub", w.args[1], w.args[0]),
    "div": _divided,
    "remainder": _divided_below("remainder"),
    "floor_divide": _divided_below("floor_divide"),
    "silu": _chain(("sigmoid", "x"), ("mul", "x", ...)),
    "hardtanh": lambda w: w.map(
        "minimum", w.map("maximum", w.args[0], w.argument(1, "min_val", -1.0)), w.argument(2, "max_val", 1.0)
    ),
    "relu6": _chain(("maximum", "x", 0.0), ("minimum", ..., 6.0)),
    "hardsigmoid": _chain(("add", "x", 3.0), ("maximum", ..., 0.0), ("minimum", ..., 6.0), ("div", ..., 6.0)),
    "hardswish": _chain(
        ("add", "x", 3.0), ("maximum", ..., 0.0), ("minimum", ..., 6.0), ("div", ..., 6.0), ("mul", "x", ...)
    ),
    "softsign": _chain(("abs", "x"), ("add", ..., 1.0), ("div", "x", ...)),
    "tanhshrink": _chain(("tanh", "x"), ("sub", "x", ...)),
    "hardshrink": _hardshrink,
    "softshrink": _softshrink,
    "threshold": _threshold,
    "celu": _celu,
    "mish": lambda w: w.map("mul", w.args[0], w.map("tanh", _softplus(w))),
    "erfc": _erfc,
    "tan": lambda w: w.map("div", w.map("sin", w.args[0]), w.map("cos", w.args[0])),
    "prelu": _prelu,
    "frac": _chain(("trunc", "x"), ("sub", "x", ...)),
    "log10": _chain(("log", "x"), ("mul", ..., 1.0 / math.log(10.0))),
    "isfinite": lambda w: w.map("lt", w.map("abs", w.args[0], dtype=dt.FLOAT32), math.inf),
    "logaddexp": _logaddexp,
    "nan_to_num": _nan_to_num,
    "dropout": _dropout,
    "leaky_relu": _leaky,
    "elu": _elu,
    "selu": _selu,
    "softplus": _softplus,
    "logsigmoid": _logsigmoid,
    "lerp": _lerp,
    "addcmul": _with_product("mul"),
    "addcdiv": _with_product("div"),
    "where": _where,
    "masked_fill": lambda w: w.map("where", w.args[1], w.args[2], w.args[0]),
}
