"""One program of a launched kernel: what its values are in a few lanes, worked out from those that are asked for backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernlint.compare.columns import ARITHMETIC, NOWHERE, OF_A_VALUE, Effort, NotCompared, Pointer, Points, TooMuch
from kernlint.compare.operations import applied, limits_of
from kernlint.workload import Launch
from kernlint.workload.values import MANNERS, Value, Values

#: A function of numbers, the operands that it takes, and the limits of the integers that it makes.
Arithmetic = tuple[Callable[..., Any], tuple[Value, ...], tuple[int, int] | None]

#: What the numbers are that a tensor holds at these offsets from its first element.
Read = Callable[[Value, str, list[int]], list[Any]]


def no_memory(load: Value, base: str, offsets: list[int]) -> list[Any]:
    """A :data:`Read` for whoever asks about places alone."""
    raise NotCompared("what memory holds")


#: Rounds of a loop that are followed.
_MOST_ROUNDS = 1 << 14

#: After how many rounds it is asked whether there is enough left for all.
_FIRST_ROUNDS = 2


class Reading:
    """What all programs of a kernel have in common: by the ids of values their operands, and the loops that they change with."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.tests = {value.node: value for value in values if value.op == "while"}
        self.indices = {value.region.loop: value for value in values if value.op == "index" and value.region.loop}
        self.operands: dict[int, tuple[Value, ...]] = {}
        self.loops: dict[int, tuple[int, ...]] = {}
        self._arithmetic: dict[int, Arithmetic] = {}
        for value in values:
            self.operands[value.id] = values.operands(value)
        for id in sorted(self.operands):  # of what they are computed from, those of loops excepted
            self.loops[id] = self._loops(values[id])

    def arithmetic(self, value: Value) -> Arithmetic:
        """How ``value`` is worked out, on each lane alone. Raises :class:`NotCompared` for another operation."""
        if value.id not in self._arithmetic:
            if value.op not in ARITHMETIC:
                raise NotCompared(f"`{value.op}`")
            given, roles = self.operands[value.id], value.roles or ("",) * len(value.operands)
            operands = tuple(one for one, role in zip(given, roles) if role not in MANNERS)
            self._arithmetic[value.id] = ARITHMETIC[value.op], operands, limits_of(value.dtype)
        return self._arithmetic[value.id]

    def _loops(self, value: Value) -> tuple[int, ...]:
        around = [region.loop for region in value.region.around() if region.loop]
        if value.op in ("phi", "index", "while"):
            return tuple(around)
        inner = {loop for one in self.operands[value.id] for loop in self.loops.get(one.id, ())}
        return tuple(loop for loop in around if loop in inner)


class Lanes:
    """The values of the program ``ids`` of ``launch``."""

    def __init__(self, launch: Launch, reading: Reading, ids: Sequence[int], read: Read, effort: Effort) -> None:
        self.launch = launch
        self.ids = tuple(ids)
        self.values = reading.values
        self.reading = reading
        self.read = read
        self.effort = effort
        #: The round that each loop is in.
        self.rounds: dict[int, int] = {}
        self._known: dict[Any, Any] = {}

    # -- asking -----------------------------------------------------------------------------------------------------

    def value(self, value: Value, points: Points) -> Any:
        """What ``value`` is at ``points``: a column, a :class:`Pointer`, or a tuple of such."""
        if value.op == "constant":
            return value.detail
        if value.op in ("phi", "exit"):
            return self._carried(value, points)
        loops = self.reading.loops[value.id]
        try:
            key = (value.id, points, *map(self.rounds.__getitem__, loops)) if loops else (value.id, points)
        except KeyError:
            raise NotCompared("a value of a loop that is over") from None
        if key in self._known:
            return self._known[key]
        self.effort.spend(OF_A_VALUE)
        made = applied(self, value, points)
        if type(made) is list:
            self.effort.spend(len(made))
        self._known[key] = made
        return made

    def given(self, value: Value) -> tuple[Value, ...]:
        return self.reading.operands[value.id]

    def scalar(self, value: Value) -> Any:
        """The one number that ``value`` is."""
        found = self.value(value, NOWHERE)
        if isinstance(found, (list, tuple, Pointer)):
            raise NotCompared("a number that is none")
        return found

    def holds(self, value: Value) -> bool:
        """Whether the conditions that ``value`` stands under hold, in the rounds at hand."""
        for region in value.region.around():
            if region.test and bool(self.scalar(self.values[region.test])) != region.holds:
                return False
            if region.loop and self.rounds[region.loop] >= self._most_rounds(region.loop, self.rounds[region.loop]):
                return False
        return True

    # -- loops ------------------------------------------------------------------------------------------------------

    def _most_rounds(self, loop: int, wanted: int) -> int:
        """How many rounds ``loop`` makes; of a ``while`` those up to ``wanted`` at least, if it makes as many."""
        index = self.reading.indices.get(loop)
        if index is not None:
            start, stop, step = (self.scalar(one) for one in self.given(index))
            if not all(type(n) is int or isinstance(n, int) for n in (start, stop, step)) or step == 0:
                raise NotCompared("a loop of unknown length")
            return max(0, -(-(stop - start) // step))
        test = self.reading.tests.get(loop)
        if test is None:
            raise NotCompared("a loop of unknown length")
        outer = self.rounds.get(loop)
        try:
            for number in range(min(wanted + 1, _MOST_ROUNDS)):
                self.rounds[loop] = number
                if not self.scalar(self.given(test)[0]):
                    return number
        finally:
            self._back(loop, outer)
        return wanted + 1

    def _back(self, loop: int, number: int | None) -> None:
        if number is None:
            self.rounds.pop(loop, None)
        else:
            self.rounds[loop] = number

    def _carried(self, value: Value, points: Points) -> Any:
        loop = value.node
        inside = self.given(value)[0] if value.op == "exit" else None
        if inside is None:
            return self._phi(value, points, self.rounds[loop])
        outer = self.rounds.get(loop)
        try:
            count = self._count(loop)
            if inside.op == "phi" and inside.node == loop:
                self.rounds[loop] = count
                return self._phi(inside, points, count)
            if count == 0:
                raise NotCompared("a value of a loop that makes no round")
            self.rounds[loop] = count - 1
            return self.value(inside, points)
        finally:
            self._back(loop, outer)

    def _count(self, loop: int) -> int:
        wanted = 1
        while True:
            count = self._most_rounds(loop, wanted)
            if count <= wanted:
                break
            if loop in self.reading.indices:
                break
            wanted *= 2
            if wanted > _MOST_ROUNDS:
                raise NotCompared("a loop of unknown length")
        if count > _MOST_ROUNDS:
            raise NotCompared("a long loop")
        return count

    def _phi(self, phi: Value, points: Points, number: int) -> Any:
        """What ``phi`` holds at the start of round ``number``: round by round, so that nothing nests deep."""
        loop = phi.node
        before, end = self.given(phi)
        outside = tuple(self.rounds[one] for one in self.reading.loops[phi.id] if one != loop)
        key = (phi.id, points, outside)
        rounds: list[Any] = self._known.setdefault(key, [])
        saved = self.rounds.get(loop)
        least = self.effort.left  # that a round costs, those excepted that also pay for what all rounds have in common
        try:
            while len(rounds) <= number:
                at, left = len(rounds), self.effort.left
                if at > _FIRST_ROUNDS and least * (number - at) > left:
                    raise TooMuch
                if at == 0:
                    made = self.operand(before, points)
                else:
                    self.rounds[loop] = at - 1
                    made = self.operand(end, points)
                if len(rounds) <= at:  # else it was asked for meanwhile
                    rounds.append(made)
                if at >= _FIRST_ROUNDS:
                    least = min(least, left - self.effort.left)
        finally:
            self._back(loop, saved)
        return rounds[number]

    # -- for operations ---------------------------------------------------------------------------------------------

    def operand(self, operand: Value, points: Points) -> Any:
        """``operand`` as it is looked at from ``points`` of what is made of it."""
        if operand.op == "constant":
            return operand.detail
        return self.value(operand, points.aligned(operand.shape) if operand.shape else NOWHERE)

    def elements(self, load: Value, base: str, offsets: list[int]) -> list[Any]:
        """What is read at ``offsets`` from the first element of the tensor ``base``."""
        self.effort.spend(4 * len(offsets))
        return self.read(load, base, offsets)
