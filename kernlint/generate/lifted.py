"""What a program computes itself, from its torch calls and its kernels, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernlint.generate.calls.reader import Reader
from kernlint.generate.host import values_of
from kernlint.generate.launches.graph import Graph
from kernlint.generate.launches.reader import LaunchReader
from kernlint.generate.plan import view_value
from kernlint.generate.values import CannotGenerate, Value
from kernlint.records import replace
from kernlint.rules.proofs.dataflow import may_use
from kernlint.workload import Call, Expr, HostSync, Launch, Repeat, Step, Tensor, TorchOp, Workload
from kernlint.workload.expr import Atom, lift


class ProgramReader(Reader):
    """Reads the steps of a program, its launches too."""

    def __init__(self, workload: Workload) -> None:
        self.graph = Graph()
        #: The rounds of the Python loops around what is read.
        self._around: list[Atom] = []
        super().__init__(workload, {})

    def _step(self, step: Step) -> None:
        if isinstance(step, Launch):
            self._launch(step)
        elif isinstance(step, Repeat) and _launches(step):
            self._rounds(step)
        elif not isinstance(step, HostSync):
            super()._step(step)

    def _launch(self, launch: Launch) -> None:
        LaunchReader(launch, self.holds, self.graph, self._around).read()
        changed = [name for name, tensor in self.workload.arguments.items() if self._is_changed(tensor)]
        if changed:
            raise CannotGenerate(f"`{launch.kernel.name}` changes the argument `{changed[0]}`")

    def _rounds(self, loop: Repeat) -> None:
        """Launches of Python loops that keep apart, each read once: the rounds are programs along one more axis of the grid."""
        self._around.append(self._round(loop))
        self._of_a_round(loop)
        self._around.pop()

    def _round(self, loop: Repeat) -> Atom:
        """What counts the rounds of ``loop``, each of which does the same with what is its own."""
        rounds = lift(loop.count).value if loop.count is not None else None
        if loop.round is None or loop.before is None or rounds is None or rounds < 1:
            raise CannotGenerate("a Python loop of which it is not known how often it goes round")
        if not _same_round(loop.earlier, loop.body, {loop.before: Expr.atom(loop.round)}):
            raise CannotGenerate("a Python loop around launches that hands something on")
        self.graph.box[loop.round] = 0, rounds - 1
        return loop.round

    def _of_a_round(self, loop: Repeat) -> None:
        if len(loop.body) == 1 and isinstance(loop.body[0], Repeat):
            self._rounds(loop.body[0])
            return
        launches = [step for step in loop.body if isinstance(step, Launch)]
        if len(launches) != len(loop.body):
            raise CannotGenerate("a Python loop around launches and other calls")
        for one in launches:
            used = {storage for other in launches if other is not one for part in may_use(other) for storage in part}
            if used & may_use(one)[1]:
                raise CannotGenerate("a Python loop whose launches go on with what one of them has written")
        for one in launches:
            self._launch(one)
            held = [self.holds[storage][0] for storage in may_use(one)[1] if storage in self.holds]
            places = (
                place for value in held for part in value.walk() for view in part.operands for place in view.index
            )
            if any(loop.round in place.atoms() for place in places):
                raise CannotGenerate("rounds of a Python loop that write different values to one element")

    def _is_changed(self, tensor: Any) -> bool:
        held = self.holds.get(tensor.storage.id) if isinstance(tensor, Tensor) else None
        return held is not None and held[0] is not self.inputs.get(tensor.storage.id)


def _launches(loop: Repeat) -> bool:
    return any(isinstance(one, Launch) or (isinstance(one, Repeat) and _launches(one)) for one in loop.body)


def _same_round(earlier: Sequence[Step], body: Sequence[Step], places: Mapping[Atom, Expr]) -> bool:
    """Whether two rounds of a loop launch the same on the same, but for the number of the round; ``places`` are what stands in the
    later one for the numbers of the rounds of loops in the earlier one."""

    def comparable(argument: Any) -> Any:
        if isinstance(argument, Tensor):
            return argument.storage.id, argument.dtype, argument.shape, argument.strides, comparable(argument.offset)
        return lift(argument).substitute(places) if isinstance(argument, (int, Expr)) else argument

    for one, other in zip(earlier, body):
        if isinstance(one, Repeat) and isinstance(other, Repeat):
            if one.round is None or other.round is None or one.count != other.count:
                return False
            if not _same_round(one.body, other.body, {**places, one.round: Expr.atom(other.round)}):
                return False
        elif isinstance(one, Launch) and isinstance(other, Launch):
            if (one.kernel.span, one.grid, dict(one.constexprs)) != (
                other.kernel.span,
                other.grid,
                dict(other.constexprs),
            ):
                return False
            if {n: comparable(v) for n, v in one.arguments.items()} != {
                n: comparable(v) for n, v in other.arguments.items()
            }:
                return False
        else:
            return False
    return len(earlier) == len(body)


def lifted(workload: Workload) -> list[Value]:
    """The results of ``workload``, whose arguments are known, at the sizes that it has: at others a program may take another way, or
    leave out what no program of a grid reaches."""
    if workload.unknowns or workload.open_choices:
        raise CannotGenerate(f"`{workload.entry}` is not followed to its end")
    reader = ProgramReader(workload)
    if reader.updates():
        raise CannotGenerate(f"`{workload.entry}` changes an argument in place")
    return [shown(reader, tensor) for tensor in values_of(workload.result)]


def shown(reader: Reader, tensor: Tensor) -> Value:
    """What ``tensor`` shows, over its own axes."""
    return view_value(reader.view(tensor), tensor.shape or ())


def with_known_arguments(workload: Workload) -> Workload:
    """``workload`` with the shapes of its arguments that asserts and uses of them tell."""
    known: dict[int, Tensor] = {}
    for tensor in _tensors(workload.steps):
        if tensor.shape is not None and tensor.strides is not None and tensor.dtype is not None and tensor.offset == 0:
            known.setdefault(tensor.storage.id, tensor)

    def completed(given: Any) -> Any:
        if not isinstance(given, Tensor) or (given.shape is not None and given.dtype is not None):
            return given
        return replace(known.get(given.storage.id, given), name=given.name)

    arguments = {name: completed(given) for name, given in workload.arguments.items()}
    return replace(
        workload, arguments=arguments, held={name: completed(given) for name, given in workload.held.items()}
    )


def _tensors(steps: Sequence[Step]) -> list[Tensor]:
    found: list[Any] = []
    for step in steps:
        if isinstance(step, Launch):
            found += step.arguments.values()
        elif isinstance(step, TorchOp):
            found += [*step.reads, *step.writes, *(step.call.args if isinstance(step.call, Call) else ())]
    return [one for one in found if isinstance(one, Tensor)]
