"""What one program of a Triton kernel does, for one launch: a tree of loops over memory accesses, dots and arithmetic.

Built once per distinct launch, with constexpr values, argument dtypes and sizes known; so tile shapes are plain
integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from typing import Any, TypeVar, Union, overload

from kernlint.asked_once import AskedOnce
from kernlint.records import dataclass, replace
from kernlint.workload.access import Access, Atomic, Bounds, Cast, Load, Narrow, Pad, Store
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import Atom, Expr, Size, mostly
from kernlint.workload.fault import Fault
from kernlint.workload.span import Span
from kernlint.workload.values import Values

_N = TypeVar("_N")
#: A kind of node, or several.
Kind = Union[type[_N], tuple[type[_N], ...]]


@dataclass(frozen=True)
class Coarse:
    """A division of an index that moves by ``step`` in each iteration of ``loop`` by ``divisor``, of which a step holds
    several: the quotients between are left out."""

    loop: int
    step: int
    divisor: int
    span: Span


@dataclass(frozen=True)
class Operand:
    """One operand of a dot.

    ``dtype`` is the type as fed; ``loads`` are the ids of the loads it comes from, ``casts`` the element-type changes
    between (oldest first), ``load`` the one load when there is a single chain of casts and transposes from it.
    ``direct`` says that nothing but casts, transposes and broadcasts lie between one load and the dot, so that the
    memory layout reaches the tensor core. ``k_stride`` and ``other_stride`` are then the strides in elements of memory
    along the contracted and the other axis. ``known`` is false where nothing in view tells the type and ``dtype`` is only
    assumed, ``alike`` says that the type of the other operand alone tells it. ``unscaled`` is the operand without ``factors``,
    multiplications at these places by what is the same all along the contracted axis and in each step of the loop: the product may be
    scaled as well. Nor has it the ``offsets``, added there to integers of 8 bits: sums of the other operand along that axis tell what
    they add to the product.
    """

    dtype: Dtype
    loads: frozenset[int]
    casts: tuple[Cast, ...]
    direct: bool
    k_stride: Size | None
    other_stride: Size | None
    span: Span
    load: int | None = None
    known: bool = True
    alike: bool = False
    factors: tuple[Span, ...] = ()
    unscaled: Operand | None = None
    offsets: tuple[Span, ...] = ()

    @property
    def memory_dtype(self) -> Dtype:
        """The type before any cast, as it lies in memory when the operand is ``direct``."""
        return self.casts[0].source if self.casts else self.dtype

    @property
    def k_major(self) -> bool | None:
        """True when neighbours along the contracted axis are neighbours in memory, None when not known."""
        if not self.direct:
            return None
        if self.k_stride == 1:
            return True
        return False if self.other_stride == 1 else None


@dataclass(frozen=True)
class Dot:
    """``tl.dot``: [m, k] times [k, n], once per loop iteration. ``precision`` is tf32, tf32x3 or ieee."""

    id: int
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    out: Dtype
    precision: str
    accumulates: bool
    span: Span
    batch: int = 1

    @property
    def flops(self) -> int:
        """Operations of one execution, a multiply-add counted as two."""
        return 2 * self.m * self.n * self.k * self.batch


@dataclass(frozen=True)
class Reduce:
    """``tl.sum``, ``tl.max`` ... of a tile along ``axis``; ``scalar`` when one number is left.

    ``pads`` say what its masked lanes hold, ``nonnegative`` that no other lane is below zero, ``indexed`` that each value
    carries its place along (``tl.argmax``, ``return_indices=True``).
    """

    op: str
    shape: tuple[int, ...]
    axis: int | None
    scalar: bool
    depends: frozenset[int]
    span: Span
    dtype: Dtype | None = None
    pads: tuple[Pad, ...] = ()
    nonnegative: bool = False
    indexed: bool = False


@dataclass(frozen=True)
class Scan:
    """``tl.cumsum``, ``tl.associative_scan`` along ``axis``, of ``tensors`` of this shape together."""

    op: str
    shape: tuple[int, ...]
    axis: int
    span: Span
    tensors: int = 1


@dataclass(frozen=True)
class Compute:
    """Elementwise arithmetic on ``elements`` values: ``kind`` is arith, special (exp, log, sqrt, divide), or cast.

    ``keeps`` is set for a ``tl.where`` that puts zero or a huge negative constant wherever one of these ``left < right``
    bounds fails: a mask; ``loads`` are then the loads of the value it masks. ``accumulates`` is set for a sum with a fresh
    product, ``acc += tl.dot(a, b)``, which the dot makes itself.

    ``op`` is the operation as ``tl`` spells it (``exp``, ``where``, ``+``, ``//``); of a cast the type that it converts from,
    or ``bitcast``. ``fma`` is a sum with a product that stands in the same expression, ``// constant`` and ``% constant``
    are divisions that the compiler makes multiplications of. Empty where a node was not read from source.
    """

    kind: str
    elements: int
    dtype: Dtype
    span: Span
    keeps: Bounds = ()
    loads: frozenset[int] = frozenset()
    accumulates: bool = False
    op: str = ""


@dataclass(frozen=True)
class Loop:
    """A loop of ``trip`` iterations (an expression over program ids; None when not known).

    ``kind`` is range, tl.range, tl.static_range or while; ``num_stages`` that of ``tl.range``; ``carried`` are the 32-bit words of
    the computed values (no pointers or indices) that flow from one iteration to the next; ``held`` what holds in each round
    of a ``while`` whose rounds are not counted (None: other than bounds).
    """

    id: int
    kind: str
    trip: Size | None
    body: tuple[Node, ...]
    span: Span
    num_stages: int | None = None
    carried: int = 0
    held: Bounds | None = ()


@dataclass(frozen=True)
class Branch:
    """An ``if`` on a run-time condition; the arms exclude each other. After ``if ...: return`` the rest of the kernel
    stands in an arm. ``conditions`` has for each arm the bounds that hold in it (None: other than bounds). ``run_time``
    says that the condition was followed and is no compile-time constant that merely is not known."""

    arms: tuple[tuple[Node, ...], ...]
    span: Span
    conditions: tuple[Bounds | None, ...] = ()
    run_time: bool = False

    @property
    def share(self) -> float:
        """The part of programs that take a given arm: arms with something to do are taken to be equally frequent."""
        return 1 / max(1, sum(bool(arm) for arm in self.arms))


Node = Union[Load, Store, Atomic, Dot, Reduce, Scan, Compute, Loop, Branch]


#: The base of accesses through an address that was loaded: any tensor, and not always the same.
ANY_TENSOR = "*"
#: The note on a kernel that loads the addresses of what it works on, as a product of each of a list of problems does.
BEHIND_ADDRESSES = "what loaded addresses point to"


@dataclass(frozen=True)
class Kernel(AskedOnce):
    """A ``@triton.jit`` function, specialised for one launch.

    ``complete`` is false when something in the body was not followed; ``notes`` then say what. ``assumed`` names the constexprs that
    no source fixes, with the value taken for them. ``faults`` is what is wrong in it, in source order. ``random`` are the 32-bit offsets
    of random numbers. ``likely`` holds what values from memory mostly are. ``may_leave``: a return stands behind nested conditions, so
    that some programs may not get to what follows. ``counts_programs``: it asks how many programs there are. ``coarse`` are the
    divisions that leave quotients out.
    ``perhaps_pointers`` are parameters of which only code speaks that is left out, or which another pointer may stand for.
    """

    name: str
    body: tuple[Node, ...]
    span: Span
    name_span: Span
    file: str
    complete: bool = True
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    dims: int = 3
    faults: tuple[Fault, ...] = ()
    random: tuple[Narrow, ...] = ()
    may_leave: bool = False
    likely: tuple[tuple[Atom, Expr], ...] = ()
    counts_programs: bool = False
    coarse: tuple[Coarse, ...] = ()
    perhaps_pointers: frozenset[str] = frozenset()
    read: Callable[[], Values | None] | None = field(default=None, compare=False)
    tell_arbitrary: Callable[[], tuple[str, ...]] | None = field(default=None, compare=False)

    @cached_property
    def arbitrary(self) -> tuple[str, ...]:
        """The constexprs among those ``assumed`` of which any other number would have done as well, and have made another kernel."""
        return self.tell_arbitrary() if self.tell_arbitrary is not None else ()

    def found(self, question: Callable[..., Iterable[_N]], *about: Any) -> list[_N]:
        """What ``question(self, *about)`` finds among the values, asked once. Those of a copy, which would have to be moved, are looked
        into only where something is found among those of its original."""
        alone = self.original is self
        return self.once(_listed, question, *about) if alone or self.original.found(question, *about) else []

    @cached_property
    def values(self) -> Values | None:
        """What the source of the kernel computes, value by value, with the ids of :attr:`body` for its nodes; None where that was
        not followed so far. A change to the body leaves the values as they were read: ask about nodes that it left alone."""
        return self.read() if self.read is not None else None

    @overload
    def walk(self) -> Iterator[tuple[Node, tuple[Loop, ...]]]: ...
    @overload
    def walk(self, kind: Kind[_N]) -> Iterator[tuple[_N, tuple[Loop, ...]]]: ...
    def walk(self, kind: Any = object) -> Iterator[tuple[Any, tuple[Loop, ...]]]:
        """Every node of ``kind`` with the loops around it, in program order."""
        return iter(self._found(kind))

    def nodes(self, kind: Kind[_N]) -> list[_N]:
        """Every node of ``kind``, in program order."""
        return [node for node, _ in self._found(kind)]

    def has(self, kind: Kind[_N]) -> bool:
        """Whether there is a node of ``kind``."""
        return bool(self._found(kind))

    def _found(self, kind: Any) -> list[tuple[Any, tuple[Loop, ...]]]:
        if kind not in self._walked:
            self._walked[kind] = [pair for pair in self._nodes if isinstance(pair[0], kind)]
        return self._walked[kind]

    @cached_property
    def original(self) -> Kernel:
        """The kernel that this one, as it was read, is a copy of but for places and names; itself where it is none."""
        return self

    @cached_property
    def launched(self) -> dict[Any, Any]:
        """What is known of launches of this kernel, by the question and all that the answer depends on beside the kernel."""
        return {}

    @cached_property
    def _nodes(self) -> list[tuple[Node, tuple[Loop, ...]]]:
        return list(_walk(self.body, ()))

    @cached_property
    def _walked(self) -> dict[type | tuple[type, ...], list[tuple[Node, tuple[Loop, ...]]]]:
        """What :meth:`walk` has found so far: each rule asks each kernel for a few kinds of nodes, many for the same."""
        return {}

    def likely_offset(self, access: Access) -> Expr | None:
        """The offset of ``access`` in most lanes: for the traffic, not for proofs."""
        return None if access.offset is None else mostly(access.offset.substitute(dict(self.likely)))

    def loads(self) -> list[Load]:
        return self.nodes(Load)

    def stores(self) -> list[Store]:
        return self.nodes(Store)

    def dots(self) -> list[Dot]:
        return self.nodes(Dot)

    def load(self, id: int) -> Load | None:
        return next((load for load in self.loads() if load.id == id), None)


def _walk(body: tuple[Node, ...], loops: tuple[Loop, ...]) -> Iterator[tuple[Node, tuple[Loop, ...]]]:
    for node in body:
        yield node, loops
        if isinstance(node, Loop):
            yield from _walk(node.body, (*loops, node))
        elif isinstance(node, Branch):
            for arm in node.arms:
                yield from _walk(arm, loops)


def _listed(kernel: Kernel, question: Callable[..., Iterable[_N]], *about: Any) -> list[_N]:
    return [*question(kernel, *about)]


def rewrite(body: tuple[Node, ...], change: Callable[[Node], Node | None]) -> tuple[Node, ...]:
    """``body`` with ``change(node)`` applied to every node, innermost first.

    ``change`` returns the node to keep in its place, or None to drop it.
    """
    result: list[Node] = []
    for node in body:
        if isinstance(node, Loop):
            node = replace(node, body=rewrite(node.body, change))
        elif isinstance(node, Branch):
            node = replace(node, arms=tuple(rewrite(arm, change) for arm in node.arms))
        new = change(node)
        if new is not None:
            result.append(new)
    return tuple(result)
