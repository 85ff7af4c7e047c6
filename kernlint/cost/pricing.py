"""The price of each step, with what L2 still holds when it runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain, compress
from operator import is_not

from kernlint.cost.device import Device
from kernlint.cost.dot_launch import kernel_time
from kernlint.cost.host import host_sigma, host_time, sync_bubble_us
from kernlint.cost.result import KernelTime, StepTime
from kernlint.cost.rounds import touched_by_others
from kernlint.cost.timeline import Turn, TurnLoop
from kernlint.cost.torch_ops import torch_op_time
from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.probe import ASSUMED_TRIP
from kernlint.records import dataclass
from kernlint.workload import Expr, HostSync, Launch, Repeat, Size, Step, Tensor, TorchOp

#: Steps looked back at for the last use of a tensor.
_LOOK_BACK = 64


#: What steps that are no body of a loop have beside them.
_NO_OTHERS: Mapping[int, float] = {}

#: An iteration count that had to be assumed (``ASSUMED_TRIP``) is right within a factor 2.5 in four cases of five.
_TRIP_SIGMA = 0.7


@dataclass(frozen=True)
class Priced:
    """What a step comes to: a row for it and for each step in it, and what the host does."""

    rows: tuple[StepTime, ...]
    turn: Turn | TurnLoop


@dataclass(frozen=True)
class _Version:
    """Some ``steps`` of a version of a program, what each has ``touched``, and what they come to where they run ``count`` times in a
    call, known up to ``doubt``."""

    steps: tuple[Step, ...]
    touched: list[dict[int, float]]
    distances: Distances
    count: float
    doubt: float
    priced: list[Priced]


class Known:
    """What has been worked out for the steps of earlier versions of a program. Answers by the identity of a step stand beside
    it, so that no other step comes to have that identity."""

    def __init__(self) -> None:
        #: Those of which no size is open.
        self.closed: dict[int, Step] = {}
        self.touched: dict[int, tuple[Step, dict[int, float]]] = {}
        #: What steps touch, one object for all that is equal.
        self.alike: dict[tuple[tuple[int, float], ...], dict[int, float]] = {}
        #: By how many steps there are: the last version, most of which the next one has too.
        self.versions: dict[int, _Version] = {}
        #: By step, distances, number of runs and doubt.
        self.priced: dict[tuple[int, int, float, float], tuple[Step, dict[int, float], Priced]] = {}


@dataclass
class Pricer:
    """Prices steps in order.

    The replay keeps in L2 what the call touched last: a tensor is warm where little was touched since its last use,
    in this call or the one before. Inside a Python loop every step is priced among the steps of the loop's body, and what no other
    round touches is as far away as all rounds together.
    """

    device: Device
    known: Known

    def price(
        self, steps: tuple[Step, ...], count: float = 1.0, doubt: float = 0.0, others: Mapping[int, float] = _NO_OTHERS
    ) -> list[Priced]:
        """What each step comes to, which runs ``count`` times in a call.

        ``doubt`` is the sigma of an iteration count that had to be assumed, ``others`` what other rounds touch of their own where the
        steps are the body of a loop.
        """
        last, numbers = self.known.versions.get(len(steps)), range(len(steps))
        changed = [*numbers] if last is None else [*compress(numbers, map(is_not, steps, last.steps))]
        touched: list[dict[int, float]] = [{}] * len(steps) if last is None else last.touched.copy()
        for number in changed:
            touched[number] = self._touched(steps[number])
        distances = Distances.of(touched, None if last is None else last.distances, others)
        if last is not None and (last.count, last.doubt) == (count, doubt):
            priced = last.priced.copy()
            moved = compress(numbers, map(is_not, distances.found, last.distances.found))
            stale: Iterable[int] = {*changed, *moved}
        else:
            priced, stale = [_NOTHING] * len(steps), numbers
        for number in stale:
            priced[number] = self._priced(steps[number], distances.found[number], count, doubt)
        self.known.versions[len(steps)] = _Version(steps, touched, distances, count, doubt, priced)
        return priced

    def _priced(self, step: Step, distance: dict[int, float], count: float, doubt: float) -> Priced:
        key = (id(step), id(distance), count, doubt)
        if key not in self.known.priced:
            found = (
                self._loop(step, count, doubt) if isinstance(step, Repeat) else self._one(step, distance, count, doubt)
            )
            self.known.priced[key] = step, distance, found
        return self.known.priced[key][2]

    def _loop(self, loop: Repeat, count: float, doubt: float) -> Priced:
        host_us = host_time(loop)
        iterations = _iterations(loop.count)
        times = _times(loop.count)
        unsure = math.hypot(doubt, _TRIP_SIGMA if iterations is None else 0.0)
        others = touched_by_others(loop, times, _in_a_round(loop))
        inner = self.price(loop.body, count * times, unsure, others)
        row = StepTime(loop, count * times, 0.0, host_us, "host", host_sigma(), {}, "host")
        turns = (Turn(host_us), *(one.turn for one in inner))
        return Priced((row, *(row for one in inner for row in one.rows)), TurnLoop(times, turns))

    def _one(
        self, step: Launch | TorchOp | HostSync, distance: Mapping[int, float], count: float, doubt: float
    ) -> Priced:
        row = self._row(step, distance, count, doubt)
        sync = isinstance(step, HostSync)
        return Priced((row,), Turn(row.host_us, 0.0 if sync else row.gpu_us, sync))

    def _row(
        self, step: Launch | TorchOp | HostSync, distance: Mapping[int, float], count: float, doubt: float
    ) -> StepTime:
        host_us = host_time(step)
        if isinstance(step, HostSync):
            bubble = sync_bubble_us()
            return StepTime(step, count, bubble, host_us, "host", host_sigma(), {"bubble": bubble}, "host")
        time = self._time(step, distance)
        named = (time.bound, math.hypot(time.sigma, doubt), time.terms, family_of(step), time.configuration, time.kind)
        return StepTime(step, count, time.us, host_us, *named)

    def _time(self, step: Launch | TorchOp, distance: Mapping[int, float]) -> KernelTime:
        if isinstance(step, TorchOp):
            return torch_op_time(step, self.device, reuse_bytes=distance)
        by_name = {
            name: distance.get(value.storage.id, 0.0)
            for name, value in step.arguments.items() if isinstance(value, Tensor)
        }  # fmt: skip
        return kernel_time(step, self.device, by_name)

    def _touched(self, step: Step) -> dict[int, float]:
        if id(step) not in self.known.touched:
            touched = _touched(step)
            self.known.touched[id(step)] = step, self.known.alike.setdefault(tuple(touched.items()), touched)
        return self.known.touched[id(step)][1]


def _touched(step: Step) -> dict[int, float]:
    """Bytes of cache per storage that ``step`` takes."""
    if isinstance(step, Repeat):
        one = _in_a_round(step)
        others = touched_by_others(step, _times(step.count), one)
        return {storage: size + others.get(storage, 0.0) for storage, size in one.items()}
    if isinstance(step, Launch):
        held = traffic(step.original).held_storages(step).items()
        return {storage: size for storage, size in held if isinstance(storage, int)}
    if isinstance(step, TorchOp) and step.kind != "alloc":
        return _largest((tensor.storage.id, float(tensor.nbytes or 0)) for tensor in (*step.reads, *step.writes))
    return {}


def _in_a_round(loop: Repeat) -> dict[int, float]:
    """Bytes of cache per storage that one round of ``loop`` takes."""
    return _largest(chain.from_iterable(_touched(step).items() for step in loop.body))


def _largest(sizes: Iterable[tuple[int, float]]) -> dict[int, float]:
    """The largest of the ``sizes`` of each storage."""
    largest: dict[int, float] = {}
    for storage, size in sizes:
        largest[storage] = max(largest.get(storage, 0.0), size)
    return largest


@dataclass(frozen=True)
class Distances:
    """For each step and storage the bytes touched from that storage's last use to the end of the step: ``found``, from the distinct
    bytes ``touched`` per storage of each step, of which so many were ``looked`` back at.

    The call repeats, so the last use may lie in the call before, unless ``others`` has the storage: the rounds before touched other parts
    of it, so many bytes. Few steps are looked back at; what is not found among them is as far away as all of them together.
    """

    touched: list[dict[int, float]]
    found: list[dict[int, float]]
    looked: list[int]
    others: Mapping[int, float]

    @staticmethod
    def of(
        touched: list[dict[int, float]], last: Distances | None = None, others: Mapping[int, float] = _NO_OTHERS
    ) -> Distances:
        """Those of ``touched``. Where a step looks back at the same objects as in ``last``, of as many steps, it has the
        same object for its distances."""
        count = len(touched)
        if last is None or last.others != others:
            pairs = [_looking_back(touched, index, others) for index in range(count)]
            return Distances(touched, [found for found, _ in pairs], [looked for _, looked in pairs], others)
        changed = [*compress(range(count), map(is_not, touched, last.touched))]
        if not changed:
            return last
        distances = Distances(touched, last.found.copy(), last.looked.copy(), others)
        behind = range(min(count, _LOOK_BACK + 1))
        stale = {i for one in changed for far in behind if last.looked[i := (one + far) % count] >= far}
        for index in stale:
            distances.found[index], distances.looked[index] = _looking_back(touched, index, others)
        return distances


def _looking_back(
    touched: list[dict[int, float]], index: int, others: Mapping[int, float]
) -> tuple[dict[int, float], int]:
    """The distances of the step ``index``, and how many steps before it were looked at."""
    count, own = len(touched), touched[index]
    distances: dict[int, float] = {}
    between = dict(own)
    back = 0
    for back in range(1, min(count, _LOOK_BACK) + 1):
        earlier = touched[(index - back) % count]
        for storage in own:
            if storage in earlier and storage not in distances and (back <= index or storage not in others):
                distances[storage] = sum(between.values())
        if len(distances) == len(own):
            break
        for storage, size in earlier.items():
            between[storage] = max(between.get(storage, 0.0), size)
    total = sum(between.values()) + sum(others.values())
    return {storage: distances.get(storage, total) for storage in own}, back


#: What stands for a step until it is priced.
_NOTHING = Priced((), Turn(0.0))


def family_of(step: Step) -> str:
    if isinstance(step, Launch):
        return "dot" if step.kernel.dots() else "program"
    if isinstance(step, TorchOp):
        movement = ("copy", "cast", "fill", "elementwise", "cat")
        return f"torch {'copy' if step.kind in movement else step.kind}"
    return "host"


def _times(count: Size | None) -> float:
    """Iterations of a Python loop, assumed where they cannot be evaluated."""
    iterations = _iterations(count)
    return ASSUMED_TRIP if iterations is None else iterations


def _iterations(count: Size | None) -> float | None:
    """Iterations of a Python loop; None where they cannot be evaluated."""
    value = count.evaluate({}) if isinstance(count, Expr) else count
    return None if value is None else max(0.0, float(value))
