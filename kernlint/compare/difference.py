"""Elements of a result that a program makes otherwise than its reference, with what tells the two apart."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernlint.compare.calls import CallReader
from kernlint.compare.columns import Effort, NotCompared, Points, TooMuch
from kernlint.compare.elements import Elements, extents
from kernlint.compare.launches import address
from kernlint.generate.values import CannotGenerate, Unbound, View
from kernlint.records import dataclass
from kernlint.workload import Repeat, Step, Tensor, Workload

#: Numbers that may be computed for one element of each side.
_MOST_NUMBERS = 300_000
#: Elements of a result that are looked at beside its first and last one.
_SAMPLES = 6
#: How far apart numbers may lie that stand for the same, in parts of what elements of the result mostly are.
_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Witness:
    """The element at ``place``: ``expected`` of the reference, ``found`` in the program. ``reads`` are the elements of inputs that it
    is made of, by path, in the reference and in the program; ``unwritten`` says that no launch writes it, ``undefined`` that it
    depends on memory that nothing has written."""

    place: tuple[int, ...]
    expected: float
    found: float
    reads: tuple[Mapping[str, frozenset[int]], Mapping[str, frozenset[int]]]
    unwritten: bool = False
    undefined: bool = False
    differs: bool = True


@dataclass(frozen=True)
class Output:
    """One tensor of the result: in the reference and in the program, with the steps that write it last."""

    reference: Tensor
    program: Tensor
    made: Step | None
    written: Step | None
    witnesses: tuple[Witness, ...] = ()

    @property
    def different(self) -> tuple[Witness, ...]:
        return tuple(one for one in self.witnesses if one.differs)


def compared(workload: Workload) -> list[Output]:
    """The outputs of ``workload`` beside those of its reference. Raises :class:`NotCompared`."""
    reference, workload = workload.reference, workload.first_call()
    if reference is None:
        raise NotCompared("no reference")
    for call in (workload, reference):
        if call.unknowns or call.open_choices or any(isinstance(step, Repeat) for step in call.steps):
            raise NotCompared(f"`{call.entry}` is not followed")
    try:
        keys, their_keys = _keys(workload, reference)
        theirs, ours = CallReader(reference, their_keys), CallReader(workload, keys)
        pairs = list(zip(_tensors(reference.result), _tensors(workload.result)))
        if len(_tensors(reference.result)) != len(_tensors(workload.result)):
            raise NotCompared("results of another number")
        return [_output(one, other, theirs, ours) for one, other in pairs]
    except (CannotGenerate, Unbound) as error:
        raise NotCompared(str(error)) from None
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
        match = path if shapes[0].get(path) == shape and shape else alike[0] if len(alike) == len(same_here) == 1 else ""
        if match:
            found[0][match] = found[1][path] = path
    names = [[name for name, t in call.arguments.items() if isinstance(t, Tensor)] for call in (ours, theirs)]
    if len(names[0]) == len(names[1]):
        for mine, other in zip(*names):
            found[0][mine] = found[1][other] = other
    return found


def _output(reference: Tensor, program: Tensor, theirs: CallReader, ours: CallReader) -> Output:
    made, written = theirs.writers.get(reference.storage.id), ours.writers.get(program.storage.id)
    plain = Output(reference, program, made, written)
    if reference.shape is None or program.shape is None or not _alike(reference, program):
        return plain
    expected, found = theirs.view(reference), ours.view(program)
    witnesses: list[Witness] = []
    try:
        for place in _places(extents(reference.shape)):
            witnesses.append(_witness(place, expected, found))
    except TooMuch:
        if not witnesses:
            raise
    usual = sum(abs(one.expected) for one in witnesses) / max(1, len(witnesses))
    judged = tuple(
        one
        if one.unwritten or one.undefined or not _close(one.expected, one.found, usual)
        else Witness(one.place, one.expected, one.found, one.reads, differs=False)
        for one in witnesses
        if one.expected == one.expected and (one.found == one.found or one.undefined or one.unwritten)
    )
    return Output(reference, program, made, written, judged)


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether elements correspond by their places."""
    return one.shape == other.shape


def _close(a: float, b: float, usual: float) -> bool:
    if a == b:
        return True
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= _TOLERANCE * max(abs(a), abs(b), usual)


def _places(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The first, the last and some other places in ``shape``."""
    if not all(shape):
        return
    numbers = random.Random(f"{shape}")
    seen = set()
    for place in (
        tuple(0 for _ in shape),
        tuple(extent - 1 for extent in shape),
        *(tuple(numbers.randrange(extent) for extent in shape) for _ in range(_SAMPLES)),
    ):
        if place not in seen:
            seen.add(place)
            yield place


def _witness(place: tuple[int, ...], expected: View, found: View) -> Witness:
    theirs, ours = Elements(Effort(_MOST_NUMBERS)), Elements(Effort(_MOST_NUMBERS))
    wanted = _number(theirs.view(expected, Points(place, 1)))
    points = Points(place, 1)
    got = _number(ours.view(found, points))
    reads = tuple({path: frozenset(at) for path, at in side.reads.items()} for side in (theirs, ours))
    unwritten = _unwritten(found, points, ours)
    return Witness(place, wanted, got, reads, unwritten, ours.undefined and got != got)  # type: ignore[arg-type]


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


