"""What a call gives the device to do, recorded while its host code is followed, and what is said of the program on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.interpret.host.first_call import Once, Recorded
from kernlint.interpret.host.journal import OutOfReach
from kernlint.interpret.host.values import LongList
from kernlint.interpret.python.control import Raised
from kernlint.interpret.python.evaluator import Evaluator
from kernlint.interpret.values import Instance
from kernlint.workload import Call, Collected, Dtype, Expr, Fault, Span, Tensor
from kernlint.workload import dtype as dt

#: Parts of the arguments of a call, those of parts counted each time they stand there, up to which it is kept.
_MOST_PARTS = 256


class Recording(Evaluator):
    """Notes the device work of what is followed, in order."""

    def __init__(self, budget: int, edits: Edits) -> None:
        super().__init__(budget, edits)
        #: Where the steps of each block that collects them go, the innermost last; without one they are dropped.
        self.sinks: list[list[Recorded]] = []
        #: Whether torch calls are kept with their arguments, and each round of a short loop is followed on its own.
        self.detailed = False
        #: Whether what is followed makes what a call is given, of which times alone are asked.
        self.makes_inputs = False
        #: What was taken for numbers that the inputs draw, in words.
        self.input_guesses: set[str] = set()
        #: Numbers that tensors in the memory of the host hold, by storage.
        self.host_numbers: dict[int, float] = {}
        #: The type of floats that are made without a word on theirs; None where that is not known.
        self.float_type: Dtype | None = dt.FLOAT32
        #: Whether torch was told to take deterministic algorithms alone.
        self.deterministic = False
        #: Rounds up to which they are followed one by one then.
        self.unrolled = 0
        #: The torch function that is being followed, with its arguments.
        self.calling: tuple[str, list[Any], dict[str, Any]] | None = None
        #: The steps that make what a call is given.
        self.made: list[Recorded] = []
        #: How many pieces of code that run once are around the current statement.
        self.depth_once = 0
        #: Whether nothing may be changed that outlives the call.
        self.frozen = False
        self.assumptions: list[str] = []
        self.unknowns: list[str] = []
        #: What the code says against the facts that it was given.
        self.contradictions: list[str] = []
        #: What Python or torch refuses of the host code that was followed; each once.
        self.host_faults: dict[tuple[str, Span], Fault] = {}

    @contextmanager
    def recording(self) -> Iterator[list[Recorded]]:
        """Collect the steps of the block; outside any such block (set-up code) steps are dropped."""
        steps: list[Recorded] = []
        self.sinks.append(steps)
        try:
            yield steps
        finally:
            self.sinks.pop()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Set-up that a call does not pay for."""
        saved, self.sinks = self.sinks, []
        try:
            yield
        finally:
            self.sinks = saved

    @contextmanager
    def making(self) -> Iterator[None]:
        """Set-up that makes what a call is given: where torch calls are kept with their arguments, these tell what it holds."""
        if not self.detailed:
            self.makes_inputs, outer = True, self.makes_inputs
            try:
                with self.silent():
                    yield
            finally:
                self.makes_inputs = outer
            return
        with self.recording() as steps:
            try:
                yield
            finally:
                self.made += steps

    @contextmanager
    def once(self) -> Iterator[None]:
        """What a first call does and later ones find done."""
        self.depth_once += 1
        try:
            yield
        finally:
            self.depth_once -= 1

    def record(self, step: Recorded) -> None:
        if self.sinks:
            wrapped = step if isinstance(step, Once) or not self.depth_once else Once(step)
            self.sinks[-1].append(wrapped)

    @contextmanager
    def inside(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Iterator[None]:
        """Within the call of a torch function, which is what is recorded then."""
        outer, self.calling = self.calling, (name, args, kwargs)
        try:
            yield
        finally:
            self.calling = outer

    def refuse(self, kind: str, node: cst.CSTNode, text: str) -> None:
        """Note that the code at ``node`` raises, where it is sure that it does and that nobody catches it."""
        if self.guarded == 0 and not self.frozen:
            span = self.span(node)
            fault = Fault(kind, span, text, self.symbol, certain=self.doubts == 0)
            known = self.host_faults.get((kind, span))
            if known is None or (fault.certain and not known.certain):
                self.host_faults[kind, span] = fault

    def assume(self, what: str) -> None:
        if self.sinks and what not in self.assumptions:
            self.assumptions.append(what)

    def unknown(self, what: str) -> None:
        if self.sinks and what not in self.unknowns:
            self.unknowns.append(what)

    def contradict(self, node: cst.CSTNode, what: str) -> None:
        """``what``, at ``node``, cannot be with the arguments at hand; nothing is read behind it where all is asked for."""
        if self.sinks:
            self.contradictions.append(f"{self.symbol} cannot be called so: {what} at line {self.span(node).line}")
        if self.detailed:
            raise Raised

    def changes(self) -> None:
        """Something that outlives the call is about to change. Raises :class:`OutOfReach` where it may not."""
        if self.frozen:
            raise OutOfReach


def as_data(function: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Call | None:
    """A call as plain data; None where an argument was not followed, is an object of the interpreter's, or has too many parts."""
    left = _MOST_PARTS

    def plain(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TypeError("too many parts")
        if value is None or value is ... or isinstance(value, (Tensor, Dtype, bool, int, float, str, Expr)):
            return value
        if isinstance(value, LongList) and value.is_of_rounds and value.length is not None:
            found = Collected(map(plain, value))
            found.length, found.backwards = value.length, value.backwards
            return found
        if isinstance(value, (tuple, list)) and not isinstance(value, LongList):
            return tuple(map(plain, value))
        if isinstance(value, slice):
            return slice(plain(value.start), plain(value.stop), plain(value.step))
        if isinstance(value, Instance) and value.kind == "torch.device":
            return None  # where it lies: on the device that all is on
        raise TypeError(type(value))

    try:
        return Call(function, tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()})
    except TypeError:
        return None
