"""What a program computes itself, from its torch calls and its kernels, as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernlint.generate.calls.reader import Reader
from kernlint.generate.host import values_of
from kernlint.generate.launches.graph import Graph
from kernlint.generate.launches.reader import LaunchReader
from kernlint.generate.plan import view_value
from kernlint.generate.values import CannotGenerate, Value
from kernlint.records import replace
from kernlint.workload import Call, HostSync, Launch, Step, Tensor, TorchOp, Workload


class ProgramReader(Reader):
    """Reads the steps of a program, its launches too."""

    def __init__(self, workload: Workload) -> None:
        self.graph = Graph()
        super().__init__(workload, {})

    def _step(self, step: Step) -> None:
        if isinstance(step, Launch):
            LaunchReader(step, self.holds, self.graph).read()
            changed = [name for name, tensor in self.workload.arguments.items() if self._is_changed(tensor)]
            if changed:
                raise CannotGenerate(f"`{step.kernel.name}` changes the argument `{changed[0]}`")
        elif not isinstance(step, HostSync):
            super()._step(step)

    def _is_changed(self, tensor: Any) -> bool:
        held = self.holds.get(tensor.storage.id) if isinstance(tensor, Tensor) else None
        return held is not None and held[0] is not self.inputs.get(tensor.storage.id)


def lifted(workload: Workload) -> list[Value]:
    """The results of ``workload``, whose arguments are known, at the sizes that it has: at others a program may take another way, or
    leave out what no program of a grid reaches."""
    if workload.unknowns or workload.open_choices:
        raise CannotGenerate(f"`{workload.entry}` is not followed to its end")
    reader = ProgramReader(workload)
    if reader.updates():
        raise CannotGenerate(f"`{workload.entry}` changes an argument in place")
    return [seen(reader, tensor) for tensor in values_of(workload.result)]


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
