"""Elements of a result that a program makes otherwise than its reference, with what tells the two apart."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernlint.compare.calls import CallReader
from kernlint.compare.columns import ENOUGH, Effort, NotCompared, Points, TooMuch
from kernlint.compare.elements import Elements, extents, least
from kernlint.compare.launches import address
from kernlint.generate.values import CannotGenerate, Unbound, View
from kernlint.records import dataclass, replace
from kernlint.workload import Repeat, Size, Step, Tensor, Workload

#: How many elements of a result are looked at, at most: for as long as they are cheap.
_MOST_ELEMENTS = 32
_CHEAP = 150_000
#: How far apart numbers may lie that stand for the same, in parts of what elements of the result mostly are.
_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Witness:
    """The element at ``place``: ``expected`` of the reference, ``found`` in the program. ``reads`` are the elements of inputs that it
    is made of, by path, in the reference and in the program; ``undefined`` says that it depends on memory that nothing has
    written, ``unwritten`` that it is such memory: no launch writes it."""

    place: tuple[int, ...]
    expected: float
    found: float
    reads: tuple[Mapping[str, frozenset[int]], Mapping[str, frozenset[int]]]
    unwritten: bool = False
    undefined: bool = False
    differs: bool = True


@dataclass(frozen=True)
class Output:
    """One tensor of the result: in the reference and in the program, with the steps that write it last. ``shared`` are the paths of
    the inputs that both sides have."""

    reference: Tensor
    program: Tensor
    made: Step | None
    written: Step | None
    witnesses: tuple[Witness, ...] = ()
    shared: frozenset[str] = frozenset()

    @property
    def different(self) -> tuple[Witness, ...]:
        return tuple(one for one in self.witnesses if one.differs)

    @property
    def differs(self) -> bool:
        return self.kind != ""

    @property
    def kind(self) -> str:
        """How it differs: in ``form`` (another type or shape), ``unwritten``, ``inputs`` (of which one side reads one and the other
        does not), ``elements`` (other ones of the same inputs), ``arithmetic``; empty where nothing is known to."""
        if not self.corresponds:
            return "form"
        if not self.different:
            return "inputs" if self.unread else "" if self.reference.shape == self.program.shape else "form"
        if any(one.undefined for one in self.different):
            return "unwritten"
        if self.paths[0] != self.paths[1]:
            return "inputs"
        return "elements" if any(one.reads[0] != one.reads[1] for one in self.different) else "arithmetic"

    @property
    def corresponds(self) -> bool:
        """Whether the elements of both are of one type and found at the same places, but for axes of one element."""
        types = {self.reference.dtype, self.program.dtype}
        return None in types or (len(types) == 1 and _long(self.reference) == _long(self.program))

    @property
    def unread(self) -> tuple[str, ...]:
        """The inputs that the reference reads and the program, which has them too, does not."""
        return tuple(sorted((self.paths[0] - self.paths[1]) & self.shared))

    @property
    def paths(self) -> tuple[frozenset[str], frozenset[str]]:
        """The inputs that the reference and the program read for what was looked at."""
        reference = frozenset(path for one in self.witnesses for path in one.reads[0])
        return reference, frozenset(path for one in self.witnesses for path in one.reads[1])


def compared(workload: Workload, effort: Effort) -> list[Output]:
    """The outputs of ``workload`` beside those of its reference, without witnesses where these are made of too much. Raises
    :class:`NotCompared`."""
    reference, workload = workload.reference, workload.first_call()
    if reference is None:
        raise NotCompared("no reference")
    for call in (workload, reference):
        if call.unknowns or call.open_choices or any(isinstance(step, Repeat) for step in call.steps):
            raise NotCompared(f"`{call.entry}` is not followed")
    try:
        keys, their_keys = _keys(workload, reference)
        theirs = CallReader(reference, reference.made, their_keys, {})
        ours = CallReader(workload, reference.made, keys, theirs.sources)
        pairs = list(zip(_tensors(reference.result), _tensors(workload.result)))
        if len(_tensors(reference.result)) != len(_tensors(workload.result)):
            raise NotCompared("results of another number")
        return [_output(one, other, theirs, ours, effort) for one, other in pairs]
    except (CannotGenerate, Unbound) as error:
        raise NotCompared(str(error)) from None
    except (ArithmeticError, ValueError):  # indices divided by nothing, floats of too many digits, whole numbers of NaN
        raise NotCompared("numbers that have no result") from None
    except RecursionError:
        raise NotCompared("too deep") from None


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for one in result for tensor in _tensors(one)]
    if isinstance(result, Mapping):
        return [tensor for one in result.values() for tensor in _tensors(one)]
    return []


def _keys(ours: Workload, theirs: Workload) -> tuple[dict[str, str], dict[str, str]]:
    """Names for what both objects hold, by path in either: where the paths are the same, or the last names for one shape."""
    found: tuple[dict[str, str], dict[str, str]] = ({}, {})
    shapes = [
        {f"self.{path}": t.shape for path, t in call.held.items() if isinstance(t, Tensor)} for call in (ours, theirs)
    ]
    for path, shape in shapes[1].items():
        last = path.rpartition(".")[2]
        alike = [one for one, other in shapes[0].items() if other == shape and one.rpartition(".")[2] == last]
        same_here = [one for one, other in shapes[1].items() if other == shape and one.rpartition(".")[2] == last]
        match = (
            path if shapes[0].get(path) == shape and shape else alike[0] if len(alike) == len(same_here) == 1 else ""
        )
        if match:
            found[0][match] = found[1][path] = path
    names = [[name for name, t in call.arguments.items() if isinstance(t, Tensor)] for call in (ours, theirs)]
    if len(names[0]) == len(names[1]):
        for mine, other in zip(*names):
            found[0][mine] = found[1][other] = other
    return found


def _output(reference: Tensor, program: Tensor, theirs: CallReader, ours: CallReader, effort: Effort) -> Output:
    made, written = theirs.writers.get(reference.storage.id), ours.writers.get(program.storage.id)
    plain = Output(reference, program, made, written, shared=frozenset(theirs.keys.values()))
    if reference.shape is None or program.shape is None:
        raise NotCompared("a result of unknown shape")
    if not plain.corresponds:
        return plain
    expected, found = theirs.view(reference), ours.view(program)
    witnesses: list[Witness] = []
    try:
        shape, other = extents(reference.shape), extents(program.shape)
        cheap, each = effort.left - _CHEAP, least(expected)
        for place in _places(shape):
            if len(witnesses) >= ENOUGH and effort.left < cheap:
                break
            before = effort.left
            if each > before:
                effort.spend(each)  # too many, which is known before any is worked out
            witnesses.append(_witness(place, _at(place, shape, other), expected, found, effort))
            each = min(each, before - effort.left) if len(witnesses) > 1 else before - effort.left
    except TooMuch:
        pass  # what was seen so far counts
    usual = sum(abs(one.expected) for one in witnesses) / max(1, len(witnesses))
    judged = tuple(
        one if one.undefined or not _close(one.expected, one.found, usual) else replace(one, differs=False)
        for one in witnesses
        if one.expected == one.expected and (one.found == one.found or one.undefined)
    )
    return replace(plain, witnesses=judged)


def _long(tensor: Tensor) -> list[Size]:
    """The axes of ``tensor`` of more than one element."""
    return [extent for extent in tensor.shape or () if extent != 1]


def _at(place: Sequence[int], shape: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """``place`` in a tensor of ``shape`` as the place in one of the shape ``other``, whose axes of one element are others."""
    rest = iter([i for i, extent in zip(place, shape) if extent != 1])
    return tuple(next(rest) if extent != 1 else 0 for extent in other)


def _close(a: float, b: float, usual: float) -> bool:
    if a == b:
        return True
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= _TOLERANCE * max(abs(a), abs(b), usual)


def _places(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The first, the last and some other places in ``shape``."""
    if min(shape, default=1) < 1:
        return
    numbers = random.Random(f"{shape}")
    seen = set()
    for place in (
        tuple(0 for _ in shape),
        tuple(extent - 1 for extent in shape),
        *(tuple(numbers.randrange(extent) for extent in shape) for _ in range(_MOST_ELEMENTS)),
    ):
        if place not in seen:
            seen.add(place)
            yield place


def _witness(place: tuple[int, ...], there: tuple[int, ...], expected: View, found: View, effort: Effort) -> Witness:
    theirs, ours = Elements(effort), Elements(effort)
    wanted = _number(theirs.view(expected, Points(place, 1)))
    points = Points(there, 1)
    got = _number(ours.view(found, points))
    reads = tuple({path: frozenset(at) for path, at in side.reads.items()} for side in (theirs, ours))
    # Elements that a kernel leaves out for what it reads, as behind the length of a row, are those that nobody asks for.
    undefined = ours.undefined and got != got and not ours.spared
    return Witness(place, wanted, got, reads, undefined and _unwritten(found, points, ours), undefined)  # type: ignore[arg-type]


def _number(column: Any) -> float:
    number = column[0] if type(column) is list else column
    if not isinstance(number, (int, float)):
        raise NotCompared("an element that is no number")
    return float(number)


def _unwritten(view: View, points: Points, elements: Elements) -> bool:
    """Whether no launch writes the element that ``view`` looks at, though launches make the tensor."""
    value = view.value
    if value.op != "left":
        return False
    looked = Points([elements.index(expr, points, {}) for expr in view.index], 1)
    while value.op == "left":
        launched, storage = value.attributes["launched"], value.attributes["storage"]
        if launched.writes(storage, address(looked, value.attributes["whole"]), elements):
            return False
        value = value.operands[0].value
    return True
