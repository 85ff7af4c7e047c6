"""Values that only kernels have: tiles, pointers, descriptors."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kernlint.interpret.values import Builtin, Unknown
from kernlint.records import dataclass
from kernlint.workload import Cast, Dtype, Expr, Span
from kernlint.workload.access import Bounds, Narrow, Pad


@dataclass(frozen=True)
class Form:
    """How a floating value came about.

    ``kind`` is one of ``square`` (x*x), ``sum``, ``sum of squares``, ``mean``, ``mean of squares``, ``square of mean``,
    ``magnitude`` (abs), ``largest magnitude``, ``read mask`` (a boolean), ``count`` (how many of one hold, or whether any
    does), ``occupied`` (that some do), ``kept`` (as loaded, or replaced), ``perhaps -inf``, ``-inf minus -inf``, ``suspect``
    (spoilt unless a ``tl.where`` replaces it); empty for a value that is only ``rounded``. ``of`` are the loads it was made
    from; ``rounded`` says that it is a product of two values in half precision, rounded to that; ``fault`` is the key of the
    fault that a suspect has on record.
    """

    kind: str = ""
    of: frozenset[int] = frozenset()
    rounded: bool = False
    fault: tuple[str, Span] | None = None


@dataclass(frozen=True)
class PointerType:
    """The type of a kernel pointer argument: ``ptr.dtype``; ``element_ty`` leads to ``element``."""

    element: Dtype | None


@dataclass(frozen=True)
class Scaled:
    """That a tile is the load ``load`` times factors and moved by offsets, at ``spans``, which are the same in each step of the loops
    around it; ``axes`` are the dimensions of the load along which they vary, ``offsets`` where it is moved."""

    load: int
    spans: tuple[Span, ...]
    axes: frozenset[int]
    offsets: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Block:
    """A value inside a kernel: a scalar (shape ``()``) or a tile.

    ``expr`` is its index expression where it is an integer (or pointer offset in elements) that arithmetic can follow.
    ``base`` is the pointer parameter it points into, else empty. ``bounds`` is, for a boolean, the conjunction of
    ``left < right`` it stands for (None: something else), ``partly`` that it has further conditions. ``loads`` are the
    loads it was computed from, ``source`` the one load it is a cast or transpose of, with ``order`` mapping its
    dimensions to those of the load; ``scaled`` is there instead where it is such a tile times a factor. ``strides`` belongs
    to block pointers and descriptors. ``carried`` marks a value that came from the previous iteration of a loop, ``steady``
    are the loops that are known not to change it. ``form`` says how a number came about, where that matters.
    ``product`` is the multiplication in a 32-bit index, with its rank: 2 where both factors vary. ``narrow`` are 32-bit
    indices that were widened on the way, ``shadow`` the index that a value of unknown type is if it is an integer.
    ``pads`` say what masked lanes hold, ``nonnegative`` that no value is below 0. ``classes`` are, for a boolean, the
    residue classes that it confines lanes to: pairs of a dividend and a divisor of which it tests the remainder. ``fresh``
    marks the result of a dot without an accumulator, in the type that the dot gave it. ``growth`` is "data" for what rises
    with loaded data without bound, "grown" for what is made of an exponential of such, which may be infinite. ``value`` is
    the id under which its operation was noted (0: it was not): who computed it is not part of what it is.
    """

    dtype: Dtype | None
    shape: tuple[int, ...] = ()
    expr: Expr | None = None
    base: str = ""
    bounds: Bounds | None = None
    loads: frozenset[int] = frozenset()
    casts: tuple[Cast, ...] = ()
    source: int | None = None
    order: tuple[int, ...] = ()
    strides: tuple[Any, ...] = ()
    constant: float | None = None
    carried: frozenset[int] = frozenset()
    partly: bool = False
    form: Form | None = None
    product: tuple[int, Span] | None = None
    narrow: tuple[Narrow, ...] = ()
    shadow: Expr | None = None
    pads: tuple[Pad, ...] = ()
    nonnegative: bool = False
    classes: Bounds = ()
    scaled: Scaled | None = None
    steady: frozenset[int] = frozenset()
    fresh: Dtype | None = None
    growth: str = ""
    value: int = field(default=0, compare=False)

    @property
    def origin(self) -> int | None:
        """The one load that ``order`` and ``casts`` are about."""
        return self.scaled.load if self.scaled is not None else self.source

    def computed(self, **changes: Any) -> Block:
        """A value that is computed from this one alone, with ``changes``: where it came from is kept; no index, layout or
        bound holds any more, nor what else was known of the numbers."""
        kept: dict[str, Any] = {name: getattr(self, name) for name in ("dtype", "shape", "loads", "carried", "partly")}
        return Block(**{**kept, **changes})


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor: ``desc.load([i, j])`` reads a tile of ``block`` at ``base + i*strides[0] +
    j*strides[1]``."""

    base: Block
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    block: tuple[int, ...]


def dtype_attribute(value: Dtype, name: str) -> Any:
    """What a kernel asks of an element type: ``x.dtype.is_fp16()``, ``x.dtype.primitive_bitwidth``."""
    if name in ("element_ty", "scalar"):
        return value
    if name == "primitive_bitwidth":
        return 1 if value.kind == "bool" else value.bits
    if name == "itemsize":
        return value.bytes
    if not name.startswith("is_"):
        return Unknown(name)
    checks: dict[str, bool] = {
        "is_floating": value.is_float,
        "is_int": value.is_integer or value.kind == "bool",
        "is_fp8": value.is_fp8,
        "is_fp16": value.name == "float16",
        "is_bf16": value.name == "bfloat16",
        "is_fp32": value.name == "float32",
        "is_fp64": value.name == "float64",
        "is_int8": value.name == "int8",
        "is_int32": value.name == "int32",
        "is_int64": value.name == "int64",
        "is_ptr": False,
        "is_block": False,
    }
    return Builtin(name, lambda args, kwargs, node: checks.get(name, Unknown(name)))
