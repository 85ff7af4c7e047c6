"""What a program computes itself, from its torch calls and its kernels, as values over open sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.calls.reader import Reader
from kernlint.generate.host import values_of
from kernlint.generate.launches.graph import Graph
from kernlint.generate.launches.reader import LaunchReader
from kernlint.generate.opened import Differs, Opened
from kernlint.generate.plan import view_value
from kernlint.generate.values import CannotGenerate, Value
from kernlint.records import replace
from kernlint.workload import Call, Event, HostSync, Launch, Step, Symbol, Tensor, TorchOp, Workload
from kernlint.workload.expr import Atom

#: By what sizes are multiplied to be read once more: each by another number, so that their products are told apart.
_TIMES = ((3, 5, 7, 11, 13, 17, 19, 23), (7, 3, 5, 13, 11, 19, 23, 17))


class ProgramReader(Reader):
    """Reads the steps of a program, its launches too."""

    def __init__(self, workload: Workload, sizes: Mapping[Atom, float]) -> None:
        self.graph = Graph()
        super().__init__(workload, sizes)

    def _step(self, step: Step) -> None:
        if isinstance(step, Launch):
            LaunchReader(step, self.holds, self.graph).read()
            changed = [name for name, tensor in self.workload.arguments.items() if self._is_changed(tensor)]
            if changed:
                raise CannotGenerate(f"`{step.kernel.name}` changes the argument `{changed[0]}`")
        elif not isinstance(step, (HostSync, Event)):
            super()._step(step)

    def _is_changed(self, tensor: Any) -> bool:
        held = self.holds.get(tensor.storage.id) if isinstance(tensor, Tensor) else None
        return held is not None and held[0] is not self.inputs.get(tensor.storage.id)


def lifted(read: Callable[[Mapping[Symbol, int]], Workload], numbers: Mapping[Symbol, int]) -> list[Value]:
    """The results of a program that ``read`` reads at given sizes, over these as symbols that are ``numbers`` at hand. Raises
    :class:`Differs` where no law in the sizes is seen."""
    readings: list[Mapping[Symbol, int]] = [numbers]
    if numbers:
        # One element along an axis is a form of its own.
        several = {one: n if n > 1 else 2 for one, n in numbers.items()}
        readings = [several]
        for times in _TIMES:
            readings.append({one: n * times[i % len(times)] for i, (one, n) in enumerate(several.items())})
    results = [_results(read, reading, number > 0) for number, reading in enumerate(readings)]
    if len({len(one) for one in results}) != 1:
        raise Differs("a result that depends on the sizes")
    opened = Opened(readings)
    return [opened.value(same) for same in zip(*results)]


def _results(read: Callable[[Mapping[Symbol, int]], Workload], sizes: Mapping[Symbol, int], again: bool) -> list[Value]:
    try:
        workload = with_known_arguments(read(sizes))
        if workload.unknowns or workload.open_choices:
            raise CannotGenerate(f"`{workload.entry}` is not followed to its end")
        reader = ProgramReader(workload, {})
        if reader.updates():
            raise CannotGenerate(f"`{workload.entry}` changes an argument in place")
        return [seen(reader, tensor) for tensor in values_of(workload.result)]
    except CannotGenerate as error:
        if again:
            raise Differs(str(error)) from None
        raise


def seen(reader: Reader, tensor: Tensor) -> Value:
    """What ``tensor`` shows, over its own axes."""
    return view_value(reader.view(tensor), tensor.shape or ())


def with_known_arguments(workload: Workload) -> Workload:
    """``workload`` with the shapes of its arguments that asserts and uses of them tell."""
    known: dict[int, Tensor] = {}
    for tensor in _tensors(workload.steps):
        if tensor.shape is not None and tensor.strides is not None and tensor.dtype is not None and tensor.offset == 0:
            known.setdefault(tensor.storage.id, tensor)

    def told(given: Any) -> Any:
        if not isinstance(given, Tensor) or (given.shape is not None and given.dtype is not None):
            return given
        return replace(known.get(given.storage.id, given), name=given.name)

    arguments = {name: told(given) for name, given in workload.arguments.items()}
    return replace(workload, arguments=arguments, held={name: told(given) for name, given in workload.held.items()})


def _tensors(steps: Sequence[Step]) -> list[Tensor]:
    found: list[Any] = []
    for step in steps:
        if isinstance(step, Launch):
            found += step.arguments.values()
        elif isinstance(step, TorchOp):
            found += [*step.reads, *step.writes, *(step.call.args if isinstance(step.call, Call) else ())]
    return [one for one in found if isinstance(one, Tensor)]
