"""What one operation on an element costs: issue slots and the time until its result is there, by operation and type.

``data/arithmetic.json`` is written by ``calibration/fit_arithmetic.py`` from ``h100-arithmetic.csv``. A slot is that of one fp32
instruction: ``exp`` in fp32 takes about eight (the special function unit answers a quarter of a warp a cycle), in fp64 35.
Casts are found by the type that they convert from. What was not measured costs what :mod:`kernlint.cost.programs` says of
its kind; a function that goes by its name, the median of those of its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from kernlint.cost.fitted import fitted
from kernlint.records import dataclass
from kernlint.workload import Compute, Dtype
from kernlint.workload.dtype import FLOAT32, find

#: Operations that take the instructions of another one.
_SAME: Mapping[str, str] = {
    "-": "+", "<<": ">>", "// power of 2": ">>", "% power of 2": ">>",
    "&": "^", "|": "^", "min": "max", "fmin": "max", "fmax": "max", "log10": "log", "div_rn": "/",
    "fdiv": "/", "sqrt_rn": "sqrt", "ceil": "floor", "round": "floor", "rint": "floor", "trunc": "floor",
    "nearbyint": "floor",
}  # fmt: skip
#: No instruction: another reading of the bits, and of floating point a modifier of the operand.
_FREE = frozenset({"bitcast"})
_MODIFIERS = frozenset({"negative", "abs", "fabs"})
#: What the special function unit of an SM does, beside which its other lanes work on.
_SPECIAL_UNIT = frozenset({"exp", "exp2", "/", "sqrt", "rsqrt", "sigmoid", "floor"})
#: Instructions of such a function in all, where it is more than one.
_BESIDE: Mapping[str, float] = {"exp": 5.0, "/": 7.0, "sigmoid": 11.0}
#: Functions that branch for arguments of another size: the elements of a thread follow one another (``pairs``). Of 64 bits all do.
BRANCHING = frozenset({"sin", "cos", "tanh", "pow"})
#: The row of a type that stands for its functions that were not measured.
OTHER = "other"


@dataclass(frozen=True)
class Price:
    """``slots`` that a warp's instruction occupies, and nanoseconds that a dependent one waits at least."""

    slots: float
    wait_ns: float = 0.0


@dataclass(frozen=True)
class Operations:
    """``prices`` by the name of the element type and the operation."""

    prices: Mapping[str, Mapping[str, Price]]

    def price(self, node: Compute) -> Price | None:
        """What ``node`` costs; None where nothing like it was measured."""
        if not node.op:
            return None
        if node.op in _FREE or (node.op in _MODIFIERS and node.dtype.is_float):
            return Price(0.0)
        for dtype in _alike(node.dtype.name):
            row = self.prices.get(dtype, {})
            for op in _alike(node.op) if node.kind == "cast" else (node.op, _SAME.get(node.op, "")):
                if op in row:
                    return row[op]
        return self.prices.get(node.dtype.name, {}).get(OTHER) if node.kind == "special" else None

    def times(self, node: Compute, op: str) -> float:
        """Slots of ``node`` over those of ``op`` in fp32; 1 where either was not measured."""
        own, other = self.price(node), self.prices.get("float32", {}).get(op)
        return own.slots / other.slots if own is not None and other is not None else 1.0


@lru_cache(maxsize=1)
def operations() -> Operations:
    """The fitted prices."""
    prices = fitted("arithmetic")["prices"]
    return Operations({dtype: {op: Price(*price) for op, price in row.items()} for dtype, row in prices.items()})


def slots_of(op: str, dtype: Dtype) -> float:
    """Slots of ``op`` on an element of ``dtype``; one for what has no price of its own."""
    row = operations().prices.get(dtype.name, {})
    found = row.get(op) or row.get(_SAME.get(op, ""))
    return found.slots if found is not None else 1.0


def slots_of_node(node: Compute) -> float:
    """Slots of ``node`` for an element; what has no price is an instruction, or takes what ``exp`` does."""
    found = operations().price(node)
    return found.slots if found is not None else slots_of("exp", FLOAT32) if node.kind == "special" else 1.0


def on_special_unit(node: Compute) -> bool:
    """Whether the special function unit decides what ``node`` costs. It has nothing for float64."""
    if "64" in node.dtype.name or "64" in node.op:
        return False
    if node.kind == "cast":
        return node.dtype.is_integer != (find(node.op) or node.dtype).is_integer
    if node.dtype.is_integer and node.op == "*":
        return True  # multiplied where floats are, beside the lanes that shift, add and compare
    return _SAME.get(node.op, node.op) in _SPECIAL_UNIT


def beside(node: Compute) -> float:
    """Instructions of the other lanes around those of the special function unit: of ``exp`` the product with log2(e) and those that keep
    small results exact (SASS of sm_90)."""
    return _BESIDE.get(_SAME.get(node.op, node.op), 1.0) if node.kind != "cast" and node.dtype.is_float else 0.0


def _alike(dtype: str) -> Iterator[str]:
    """The types that have the instructions of ``dtype``, itself first: signs do not matter, short integers are held in 32 bits."""
    yield dtype
    signed = dtype.removeprefix("u")
    yield signed
    if signed in ("int8", "int16"):
        yield "int32"
