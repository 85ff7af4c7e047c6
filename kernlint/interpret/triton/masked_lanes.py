"""What the masked lanes of a tile hold: a small algebra of what arithmetic makes of the value that a load left there.

A value is a number where it is known, else one of the words that :class:`~kernlint.workload.access.Pad` explains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from kernlint.interpret.triton.values import Block
from kernlint.records import replace
from kernlint.workload.access import Bounds, Pad
from kernlint.workload.expr import Expr

Value = float | str

#: Functions that are positive for every finite argument.
_POSITIVE = frozenset({"exp", "exp2", "sigmoid", "fast_expf", "cosh"})
#: Functions whose result is never negative.
NONNEGATIVE = _POSITIVE | {"abs", "fabs", "sqrt", "sqrt_rn", "rsqrt", "isnan", "isinf"}

_ON_NUMBERS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "fast_expf": math.exp,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "abs": abs,
    "fabs": abs,
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "floor": math.floor,
    "ceil": math.ceil,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "-": lambda x: -x,
}

#: What is added to a number beyond this does not bring it back: -1e9 stands for minus infinity in many kernels.
_DOMINANT = 1e4

_BINARY: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "max": max,
    "min": min,
}


def unary(name: str, value: Value) -> Value:
    """``name(value)``."""
    if isinstance(value, float):
        if value == -math.inf and name in ("exp", "exp2", "fast_expf", "sigmoid"):
            return 0.0
        return _number(_ON_NUMBERS.get(name), value)
    if value == "undefined":
        return value
    if name in _POSITIVE or (name in ("abs", "fabs", "sqrt") and value in ("positive", "data")):
        return "positive" if value in ("positive", "data") else "unknown"
    if name == "-" and value in ("positive", "data"):
        return "data"
    return "unknown"


def binary(name: str, a: Value, b: Value) -> Value:
    """``a name b``."""
    if isinstance(a, float) and isinstance(b, float):
        return _number(_BINARY.get(name), a, b)
    if name == "*" and 0.0 in (a, b):
        return 0.0 if "undefined" not in (a, b) else "unknown"
    if name == "/" and a == 0.0 and b in ("positive", "data"):
        return 0.0
    if "undefined" in (a, b):
        return "undefined"
    if "unknown" in (a, b):
        return "unknown"
    if name in ("+", "-"):
        for number, sign in ((a, 1.0), (b, -1.0 if name == "-" else 1.0)):
            if isinstance(number, float) and abs(number) >= _DOMINANT:
                return number * sign
        if name == "+" and all(v == "positive" or (isinstance(v, float) and v >= 0) for v in (a, b)):
            return "positive"
        if name == "-" and b == 0.0:
            return a
        return "data" if isinstance(a, float) or isinstance(b, float) else "unknown"
    if name in ("*", "/") and any(isinstance(v, float) and abs(v) >= _DOMINANT for v in (a, b)):
        return "unknown"
    if name in ("*", "/") and not any(isinstance(v, float) and (math.isinf(v) or v == 0) for v in (a, b)):
        positive = all(v == "positive" or (isinstance(v, float) and v > 0) for v in (a, b))
        return "positive" if positive else "data"
    if name == "max" and any(v == "positive" for v in (a, b)):
        return "positive"
    return "unknown"


def combined(name: str, a: Block, b: Block) -> tuple[Pad, ...]:
    """The masked lanes of ``a name b``, two tiles of one shape."""
    found: dict[Bounds, Pad] = {}
    for pad in (*a.pads, *b.pads):
        if pad.bounds not in found:
            value = binary(name, _value(a, pad), _value(b, pad))
            # What is undefined comes from the load that is, whichever operand that is.
            same = (other for other in (*a.pads, *b.pads) if other.bounds == pad.bounds)
            source = next((other for other in same if value == other.value == "undefined"), pad)
            found[pad.bounds] = replace(pad, value=value, load=source.load)
    return tuple(found.values())


def mapped(name: str, pads: tuple[Pad, ...]) -> tuple[Pad, ...]:
    """The masked lanes of ``name(tile)``."""
    return tuple(replace(pad, value=unary(name, pad.value)) for pad in pads)


def chosen(condition: Block | None, x: Block, y: Block) -> tuple[Pad, ...]:
    """The masked lanes of ``tl.where(condition, x, y)``: those where ``condition`` is surely false hold ``y``."""
    if condition is None:
        return ()
    known = set(condition.bounds or ())
    found: list[Pad] = []
    for pad in x.pads:
        value = _value(y, pad) if known.issuperset(pad.bounds) else "unknown"
        found.append(replace(pad, value=value))
    covered = {pad.bounds for pad in found}
    found += [replace(pad, value="unknown") for pad in y.pads if pad.bounds not in covered]
    return tuple(found)


def renamed(pads: tuple[Pad, ...], rename: Callable[[Expr], Expr]) -> tuple[Pad, ...]:
    return tuple(replace(pad, bounds=tuple((rename(x), rename(y)) for x, y in pad.bounds)) for pad in pads)


def reduced(name: str, pads: tuple[Pad, ...], inside: Callable[[Pad], bool]) -> tuple[Pad, ...]:
    """The masked lanes that a reduction leaves: those of masks that do not run along the reduced axis (``inside``)."""
    kept: Mapping[str, frozenset[str]] = {"sum": frozenset({"positive", "undefined"}), "max": frozenset({"undefined"})}
    result = []
    for pad in pads:
        if inside(pad):
            continue
        same = pad.value in kept.get(name, ()) or (name in ("max", "min")) or (name == "sum" and pad.value == 0.0)
        result.append(replace(pad, value=pad.value if same else "unknown"))
    return tuple(result)


def _value(block: Block, pad: Pad) -> Value:
    """What ``block`` holds in the masked lanes of ``pad``."""
    for own in block.pads:
        if own.bounds == pad.bounds:
            return own.value
    if block.constant is not None:
        return float(block.constant)
    if block.pads or block.carried or not block.loads:
        return "unknown"
    return "positive" if block.nonnegative else "data"


def _number(function: Callable[..., float] | None, *values: float) -> Value:
    if function is None:
        return "unknown"
    try:
        result = float(function(*values))
    except (ValueError, OverflowError, ZeroDivisionError):
        return "unknown"
    return "unknown" if math.isnan(result) else result
