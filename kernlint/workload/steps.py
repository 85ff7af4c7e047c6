"""What one call of the analysed function does on the host: launches, torch calls and syncs, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, TypeVar, Union

from kernlint.asked_once import AskedOnce
from kernlint.records import dataclass, replace
from kernlint.workload.access import Access, Bounds
from kernlint.workload.expr import Expr, Size, Symbol, concrete
from kernlint.workload.fault import Fault
from kernlint.workload.hints import NO_HINTS, Hints
from kernlint.workload.kernel import Kernel, Kind, Loop, Node, rewrite
from kernlint.workload.span import Span
from kernlint.workload.tensor import Tensor

_A = TypeVar("_A", bound=Access)


class Key(tuple[Any, ...]):
    """A tuple that is asked for its hash again and again."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()


class Collected(tuple[Any, ...]):
    """A list that a loop filled: ``length`` elements, of which those before the loop and the ones of two rounds stand in it, in the order
    in which they came to it; ``backwards``: the list itself begins with the last."""

    length: Size
    backwards: bool


@dataclass(frozen=True)
class Call:
    """A torch function with its arguments: tensors, numbers, element types, strings, and tuples of these."""

    function: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


#: Torch calls of kind "copy" that write to a tensor which was there before, or that read elements from elsewhere than they write them.
MORE_THAN_A_COPY = frozenset({"copy_", "setitem", "repeat", "repeat_interleave", "pad", "roll", "flip"})


@dataclass(frozen=True)
class TorchOp:
    """A call that torch answers, usually with one device kernel.

    ``kind`` is what it costs: copy, transpose (a copy that permutes), cast, fill, elementwise, reduce, matmul, softmax,
    norm, attention, conv, scan, gather, cat, random, rnn, alloc (no device work), unknown.
    ``dims`` carries what the cost needs beyond the tensors: batch, m, n, k of a matmul; axis of a reduction ...
    ``flops`` counts a multiply-add as two. ``call`` is the call as it was written, None where an argument is not known or nobody asked.
    """

    name: str
    kind: str
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    span: Span
    function: str
    flops: int | None = 0
    dims: Mapping[str, int] = field(default_factory=dict)
    call: Call | None = None


@dataclass(frozen=True)
class Tuning:
    """What ``triton.autotune`` was asked for.

    ``key`` names the arguments whose values (with the element types of all tensors) it tunes again for.
    ``configurations`` counts the candidates, None where they were not all followed; ``swept`` are the meta-parameters and
    options that take more than one value among them, ``repeating`` those of them without which some candidates are the same.
    ``pruned`` says that a pruning function narrows them,
    ``kept`` that results outlive the process (``cache_results``). ``span`` is the decorator or call. ``parameters`` are
    those that the configurations set, ``restored`` and ``zeroed`` the buffers that it restores or zeroes while it measures,
    ``hooked`` says that hooks of the author's may do more.
    """

    key: tuple[str, ...]
    configurations: int | None
    swept: frozenset[str]
    pruned: bool
    kept: bool
    span: Span
    repeating: frozenset[str] = frozenset()
    parameters: frozenset[str] = frozenset()
    restored: frozenset[str] = frozenset()
    zeroed: frozenset[str] = frozenset()
    hooked: bool = False


@dataclass(frozen=True)
class Launch:
    """A kernel launch: ``kernel`` as it behaves under these arguments.

    ``grid`` has one to three extents. ``arguments`` binds each kernel parameter to a Tensor, an integer, a float or
    None; ``constexprs`` the ``tl.constexpr`` ones. ``alternatives`` holds the same launch under each further autotune
    configuration; the run time picks the fastest. ``function`` is the host function that launches.
    ``explicit`` are the parameters and options that the call itself gives, ``literals`` the source ranges of those that
    are integer literals: where there are several, all must change together. ``grid_follows`` says that the grid is computed
    from the constexprs (a function that looks into META). ``numbers`` are the integer literals that ``function`` came by.
    ``faults`` are what the launcher refuses of the arguments and the grid (empty too where nobody asked).
    ``open_constexprs`` are the constexprs that get a size the source does not fix, ``unspecialised`` the parameters that
    ``do_not_specialize`` and ``do_not_specialize_on_alignment`` list. ``premises`` are the flags among the constexprs that
    hold where some expressions are zero (``EVEN = n % 64 == 0``): the kernel is that for which they hold. ``tried`` says that
    the program carries on where the launch fails: it stands in a ``try`` that catches what Triton raises.
    """

    kernel: Kernel
    grid: tuple[Size, ...]
    arguments: Mapping[str, Tensor | Size | float | None]
    constexprs: Mapping[str, object]
    num_warps: int
    num_stages: int
    span: Span
    function: str
    autotuned: bool = False
    alternatives: tuple[Launch, ...] = ()
    explicit: frozenset[str] = frozenset()
    literals: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    numbers: Mapping[Span, int] = field(default_factory=dict)
    grid_follows: bool = False
    tuning: Tuning | None = None
    open_constexprs: Mapping[str, Expr] = field(default_factory=dict)
    unspecialised: frozenset[str] = frozenset()
    premises: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    tried: bool = False

    @property
    def programs(self) -> int | None:
        """Programs in the grid, or None while an extent is symbolic."""
        count = 1
        for extent in self.grid:
            number = concrete(extent)
            if number is None:
                return None
            count *= number
        return count

    @property
    def configurations(self) -> tuple[Launch, ...]:
        """The launch under each configuration that its tuner may take and that was followed; itself where none chooses."""
        return (self, *self.alternatives)

    @property
    def all_followed(self) -> bool:
        """Whether ``configurations`` are all there are."""
        return not self.autotuned or (
            self.tuning is not None and self.tuning.configurations == len(self.configurations)
        )

    def under_each(self, holds: Callable[[Launch], bool]) -> bool:
        """Whether ``holds`` of the launch whichever configuration its tuner takes: a proof for the first one says nothing of
        the others. False where not all of them were followed."""
        return self.all_followed and all(map(holds, self.configurations))

    def tensor(self, parameter: str) -> Tensor | None:
        value = self.arguments.get(parameter)
        return value if isinstance(value, Tensor) else None

    def name_of(self, parameter: str) -> str:
        """What the source calls the tensor behind ``parameter``, for messages."""
        tensor = self.tensor(parameter)
        return tensor.name if tensor is not None and tensor.name else parameter

    def bound_to(self, storage: int) -> list[str]:
        """The parameters of the kernel that point into the memory ``storage``."""
        return [n for n, value in self.arguments.items() if isinstance(value, Tensor) and value.storage.id == storage]

    def walk(self, storage: int, kind: Kind[_A]) -> Iterator[tuple[_A, tuple[Loop, ...]]]:
        """The accesses of ``kind`` to the memory ``storage`` with the loops around them, in program order."""
        names = self.bound_to(storage)
        return ((node, loops) for node, loops in self.kernel.walk(kind) if node.base in names)

    def accesses(self, storage: int, kind: Kind[_A]) -> list[_A]:
        """The accesses of ``kind`` to the memory ``storage``, in program order."""
        return [node for node, _ in self.walk(storage, kind)]

    @cached_property
    def shapes(self) -> tuple[Any, ...]:
        """The grid and what the tensors among the arguments look like, by parameter: what the traffic of a launch of this kernel
        depends on."""
        tensors = (
            (n, t.dtype, t.shape, t.strides, t.offset, t.storage.expected)
            for n, t in self.arguments.items()
            if isinstance(t, Tensor)
        )
        return Key((self.grid, *tensors))

    @cached_property
    def original(self) -> Launch:
        """This as a launch of the kernel that its own is a copy of: what depends on no place is the same, and worked out once."""
        if self.kernel.original is self.kernel:
            return self
        found = replace(self, kernel=self.kernel.original)
        vars(found)["shapes"] = self.shapes
        return found

    @cached_property
    def work(self) -> tuple[Any, ...]:
        """What launches agree in that do the same on tensors that look alike, wherever they stand."""
        scalars = ((name, value) for name, value in self.arguments.items() if not isinstance(value, Tensor))
        return Key((id(self.kernel.original.body), self.num_warps, self.num_stages, self.shapes, tuple(scalars)))

    @cached_property
    def likeness(self) -> tuple[Any, ...]:
        """What launches of the same source agree in where only the memory behind their tensors differs. Kernels are told by
        their identity: a key for as long as the launch lives."""
        storages: dict[int, int] = {}
        arguments = tuple(
            (name, storages.setdefault(v.storage.id, len(storages)), v.storage.origin)
            if isinstance(v, Tensor)
            else (name, v)
            for name, v in self.arguments.items()
        )
        same = id(self.kernel.body), self.kernel.name_span, self.kernel.faults, self.faults
        key = Key((
            self.span, self.function, self.num_warps, self.num_stages, self.grid_follows, same, self.shapes, arguments,
            tuple(self.constexprs.items()), tuple(self.literals.items()), tuple(self.numbers.items()),
            tuple(one.likeness for one in self.alternatives),
        ))  # fmt: skip
        try:
            hash(key)
        except TypeError:  # a constexpr that is a list, say
            return (id(self),)
        return key

    def rewritten(self, change: Callable[[Node], Node | None]) -> Launch:
        """The launch with ``change(node)`` applied to every node of its kernel, as `kernlint.workload.kernel.rewrite`
        does."""
        return replace(self, kernel=replace(self.kernel, body=rewrite(self.kernel.body, change)))


@dataclass(frozen=True)
class HostSync:
    """The host waits for the device: ``.item()``, ``.cpu()``, a tensor in an ``if`` ...; ``reads`` is what it waits for,
    None where it waits for everything."""

    what: str
    span: Span
    function: str
    reads: Tensor | None = None


@dataclass(frozen=True)
class Repeat:
    """A Python loop around device work: ``body`` happens ``count`` times.

    ``body`` holds the steps of one iteration in the middle, ``earlier`` those of the one before it (empty where only one
    was followed): what differs between them tells what moves and what is handed on. ``entered`` are those of a first one that
    was followed before these, to settle what is handed on: they count for what depends on what alone. ``round`` stands in ``body``
    for the place of that iteration, where one law gives the places of all, ``before`` for that of ``earlier``.
    """

    count: Size | None
    body: tuple[Step, ...]
    span: Span
    function: str
    earlier: tuple[Step, ...] = ()
    entered: tuple[Step, ...] = field(default=(), compare=False)
    round: Symbol | None = None
    before: Symbol | None = None
    backwards: bool = False


Step = Union[Launch, TorchOp, HostSync, Repeat]


@dataclass(frozen=True)
class Workload(AskedOnce):
    """One call of ``entry``.

    ``inputs`` are its tensor arguments and parameters, ``outputs`` what outlives it: its result, and
    tensors it keeps on an object or saves for a backward pass. ``assumptions`` say which facts
    did not come from code; ``unknowns`` what the interpreter could not follow. ``symbols`` are the names of sizes that
    are still open. ``sizes`` are the module-level constants in force. ``bare`` says that no call was followed: the one
    step is a launch of the kernel ``entry`` that stands for any, of whose arguments nothing is known. ``bounds`` hold
    whenever the call gets as far as its launches (``left < right``), and each of ``zeros`` is zero then: what asserts,
    guards and branches tell. ``elsewhere`` are the storages that branches which were not followed may write.
    ``faults`` are what Python or torch refuses of the code around the launches.
    ``read_sizes`` are the storages whose size the host has read from a tensor, with the places where it did,
    ``numbers_read`` the places where it reads numbers that are known, of which other calls may hold others.
    ``hints`` is what the source says of open sizes and unknown types without fixing them.
    ``traced`` says that the call was run on fake tensors, not only read.
    ``steps`` are those of any later call; ``first_steps`` those of a first one, which also fills caches, None where it is
    like the others. ``result`` is what the call returns, as it is nested (unknown where that is not known), ``arguments`` what
    it was given, by parameter, and ``held`` the tensors and numbers that the object has whose method it is, by dotted path;
    ``modes`` whether that object (the empty path) and those in it are in training, both where the call switches it, and ``by_mode``
    those of them that the call asks for it.
    ``open_choices`` counts the conditions whose outcome was not known. ``made`` are the steps that made what it was given and what
    the object holds, where torch calls are kept with their arguments.
    """

    entry: str
    file: str
    steps: tuple[Step, ...]
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    reference: Workload | None = None
    bare: bool = False
    bounds: Bounds = ()
    zeros: tuple[Expr, ...] = ()
    elsewhere: frozenset[int] = frozenset()
    first_steps: tuple[Step, ...] | None = None
    read_sizes: Mapping[int, frozenset[Span]] = field(default_factory=dict)
    numbers_read: frozenset[Span] = frozenset()
    traced: bool = False
    hints: Hints = NO_HINTS
    faults: tuple[Fault, ...] = ()
    result: Any = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    held: Mapping[str, Any] = field(default_factory=dict)
    modes: Mapping[str, frozenset[bool]] = field(default_factory=dict)
    by_mode: frozenset[str] = frozenset()
    open_choices: int = 0
    made: tuple[Step, ...] = ()

    def first_call(self) -> Workload:
        """The call that also does what is kept for later ones."""
        return self if self.first_steps is None else replace(self, steps=self.first_steps, first_steps=None)

    def walk(self) -> Iterator[tuple[Step, tuple[Repeat, ...]]]:
        """Every step with the Python loops around it, in order."""
        yield from walk_steps(self.steps)

    @cached_property
    def all_steps(self) -> Sequence[Step]:
        """Every step, those in Python loops too, in order."""
        return [step for step, _ in self.walk()] if Repeat in map(type, self.steps) else self.steps

    def launches(self) -> list[Launch]:
        return self._launches.copy()

    def launches_at(self, span: Span) -> list[Launch]:
        """The launches that the source writes at ``span``, in order."""
        return self.launches_by_span.get(span, []).copy()

    @cached_property
    def launches_by_span(self) -> Mapping[Span, list[Launch]]:
        """The launches by where the source writes them, in order."""
        found: dict[Span, list[Launch]] = {}
        for launch in self._launches:
            found.setdefault(launch.span, []).append(launch)
        return found

    def distinct_launches(self) -> list[Launch]:
        """The launches without those that are like an earlier one at the same place (:attr:`Launch.likeness`): a model calls
        one function for each of its layers."""
        return self._distinct.copy()

    @cached_property
    def _distinct(self) -> list[Launch]:
        found: list[Launch] = []
        seen: set[Any] = set()
        for launch in self._launches:
            if len(self.launches_by_span[launch.span]) == 1:
                found.append(launch)
            elif launch.likeness not in seen:
                seen.add(launch.likeness)
                found.append(launch)
        return found

    def mapped(self, change: Callable[[Step], Step | tuple[Step, ...] | None], first: bool = False) -> Workload:
        """The workload with ``change`` applied to its steps as :func:`map_steps` does, those of a ``first`` call too if asked."""
        steps = map_steps(self.steps, change)
        if not first or self.first_steps is None:
            return replace(self, steps=steps)
        return replace(self, steps=steps, first_steps=map_steps(self.first_steps, change))

    def configured(self, number: int) -> Workload:
        """The workload in which each tuner takes its configuration of this number, as far as they were followed."""

        def change(step: Step) -> Step:
            if not isinstance(step, Launch):
                return step
            place = number % len(step.configurations)
            first, *others = (*step.configurations[place:], *step.configurations[:place])
            return replace(first, alternatives=tuple(replace(one, alternatives=()) for one in others))

        return self.mapped(change, first=True) if number else self

    @cached_property
    def _launches(self) -> list[Launch]:
        return [step for step in self.all_steps if isinstance(step, Launch)]


def walk_steps(steps: tuple[Step, ...], loops: tuple[Repeat, ...] = ()) -> Iterator[tuple[Step, tuple[Repeat, ...]]]:
    """``steps`` and those inside their loops, in order, each with the loops around it."""
    for step in steps:
        yield step, loops
        if isinstance(step, Repeat):
            yield from walk_steps(step.body, (*loops, step))


def allocates(step: object) -> bool:
    """Whether ``step`` asks torch for memory and no more."""
    return isinstance(step, TorchOp) and step.kind == "alloc"


def map_steps(steps: tuple[Step, ...], change: Callable[[Step], Step | tuple[Step, ...] | None]) -> tuple[Step, ...]:
    """``steps`` with ``change(step)`` applied to each, loops innermost first.

    ``change`` returns the step to keep in its place, a tuple of steps, or None to drop it.
    """
    result: list[Step] = []
    for step in steps:
        if isinstance(step, Repeat):
            step = replace(step, body=map_steps(step.body, change))
        new = change(step)
        if isinstance(new, tuple):
            result.extend(new)
        elif new is not None:
            result.append(new)
    return tuple(result)


def map_launch(workload: Workload, span: Span, change: Callable[[Launch], Step | tuple[Step, ...]]) -> Workload:
    """``workload`` with ``change(launch)`` in the place of each launch that the source writes at ``span``."""

    def at_span(step: Step) -> Step | tuple[Step, ...]:
        return change(step) if isinstance(step, Launch) and step.span == span else step

    return workload.mapped(at_span)


def map_configurations(workload: Workload, span: Span, change: Callable[[Launch], Launch]) -> Workload:
    """As `map_launch`, with ``change`` applied to the launch under each of its autotune configurations."""
    return map_launch(
        workload, span, lambda launch: replace(change(launch), alternatives=tuple(map(change, launch.alternatives)))
    )
