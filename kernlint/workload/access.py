"""Where one program of a kernel touches memory: loads, stores and atomics, with their addresses and masks.

Offsets are in elements, not bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cache, lru_cache
from typing import TypeVar

from kernlint.records import dataclass, replace
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import Atom, Expr, Lane, Opaque, Size, simplify
from kernlint.workload.span import Span

_A = TypeVar("_A", bound="Access")


@dataclass(frozen=True)
class Cast:
    """A change of element type on the way from a load to its use; ``function`` is the one whose body it stands in."""

    source: Dtype
    target: Dtype
    span: Span
    function: str = ""


#: A conjunction of ``left < right``.
Bounds = tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True)
class Narrow:
    """An index that is computed in 32 bits and widened to the 64 bits of an address only then.

    ``value`` is what it would be without overflow, ``span`` the product in it; ``known`` is false where its type rests
    on a load of unknown type.
    """

    value: Expr
    span: Span
    known: bool = True


@dataclass(frozen=True)
class Pad:
    """What those lanes of a tile hold for which one of ``bounds`` (a mask) fails.

    ``value`` is a number, or "positive" (some finite positive number), "data" (some finite number that depends on
    the data), "undefined" (a masked load without ``other``), "unknown". ``load`` is the masked load.
    """

    bounds: Bounds
    value: float | str
    load: int


@dataclass(frozen=True)
class Access:
    """A tile of addresses ``base + offset``.

    ``base`` is the kernel parameter it points into; ``shape`` the tile's extents; ``offset`` an expression over
    ``ProgramId``, ``Lane``, ``LoopIndex`` (None when it was not followed, say a gather through a loaded index).
    ``mask`` holds the conjunction of ``left < right`` bounds (None: not masked; empty: masked by something else);
    ``mask_known`` is false when the mask has further conditions that are no such bounds.
    ``narrow`` are the 32-bit indices in the address. ``through`` are the loads that the address depends on.
    ``tested`` are those that its mask depends on; ``stretched`` says that the mask has fewer dimensions than the tile.
    ``classes`` are the residue classes that the mask confines lanes to: pairs of a dividend and a divisor.
    ``checked`` says that a block pointer or descriptor keeps the access inside the tensor, ``barriers`` how many barriers
    stand before the access in program order.
    """

    id: int
    base: str
    dtype: Dtype
    shape: tuple[int, ...]
    offset: Expr | None
    mask: Bounds | None
    span: Span
    narrow: tuple[Narrow, ...] = field(default=(), kw_only=True)
    through: frozenset[int] = field(default=frozenset(), kw_only=True)
    tested: frozenset[int] = field(default=frozenset(), kw_only=True)
    stretched: bool = field(default=False, kw_only=True)
    classes: Bounds = field(default=(), kw_only=True)
    checked: bool = field(default=False, kw_only=True)
    barriers: int = field(default=0, kw_only=True)

    @property
    def elements(self) -> int:
        """Elements of the tile."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def bytes(self) -> int:
        """Bytes of the tile, before masks and sector granularity."""
        return self.elements * self.dtype.bytes

    @property
    def bounding(self) -> list[Expr]:
        """What its mask compares."""
        return [side for pair in self.mask or () for side in pair]

    @property
    def expressions(self) -> list[Expr]:
        """Where it is, as far as that was followed, and what its mask compares."""
        return self.bounding if self.offset is None else [self.offset, *self.bounding]

    def moved(self: _A, change: Callable[[Expr], Expr]) -> _A:
        """The same access with ``change`` made to where it is and to what its mask compares."""
        mask = self.mask and tuple((change(left), change(right)) for left, right in self.mask)
        return replace(self, offset=None if self.offset is None else change(self.offset), mask=mask)

    def stride(self, dim: int) -> Size | None:
        """Elements from one lane to the next along ``dim``, but for the steps of a floor division or the wrap of a
        modulo (``(i // w) * s + i % w`` has stride 1); None where it is not constant."""
        if self.offset is None:
            return None
        coefficient = _smooth(self.offset, Lane(dim)).coefficient(Lane(dim))
        return None if coefficient is None else simplify(coefficient)


@lru_cache(maxsize=1024)
def _smooth(offset: Expr, lane: Lane) -> Expr:
    """``offset`` without the jumps that floor divisions and modulos of ``lane`` make."""
    if not any(isinstance(atom, Opaque) and atom.op in ("mod", "floordiv") for atom in offset.atoms()):
        return offset

    @cache
    def unfold(atom: Atom) -> Expr | None:
        # x % n == x - n * (x // n), so that (x // n) * n + x % n folds back into x.
        if isinstance(atom, Opaque) and atom.op == "mod" and any(lane in arg.atoms() for arg in atom.args):
            x, n = atom.args
            return x.rewrite(unfold) - n * Expr.atom(Opaque("floordiv", (x, n)))
        return None

    def flatten(atom: Atom) -> int | None:
        jumps = isinstance(atom, Opaque) and atom.op == "floordiv" and any(lane in arg.atoms() for arg in atom.args)
        return 0 if jumps else None

    return offset.rewrite(unfold).rewrite(flatten)


@dataclass(frozen=True)
class Load(Access):
    """``tl.load``: ``other`` is the value of masked lanes (None: undefined, or a value that is not known where ``filled``),
    ``eviction`` the cache hint."""

    other: float | None = None
    eviction: str = ""
    mask_known: bool = True
    filled: bool = False


@dataclass(frozen=True)
class Store(Access):
    """``tl.store``; ``depends`` are the ids of the loads that the stored value was computed from, ``kept`` of those whose
    elements it holds as they were or replaced, so that storing it there once more changes nothing."""

    depends: frozenset[int] = frozenset()
    casts: tuple[Cast, ...] = ()
    mask_known: bool = True
    kept: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Atomic(Access):
    """``tl.atomic_*``; ``op`` is add, max, cas, ... ``alike`` says that the value is one number for all lanes, which the
    source tells. ``sem`` is what it orders, as Triton has it."""

    op: str = "add"
    depends: frozenset[int] = frozenset()
    mask_known: bool = True
    alike: bool = False
    sem: str = "acq_rel"

    @property
    def releases(self) -> bool:
        """Whether what stands before it is done when it is seen."""
        return self.sem in ("acq_rel", "release")
