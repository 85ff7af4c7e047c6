"""Steps of a trace, those of loops put together, as a workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kernlint.interpret.host.first_call import bare
from kernlint.interpret.python.control import OutOfBudget, Raised
from kernlint.interpret.reading.calls import open_symbols
from kernlint.interpret.recorded.aten import translated
from kernlint.interpret.recorded.launches import Launches
from kernlint.interpret.recorded.loops import Looped, folded
from kernlint.interpret.recorded.places import HERE, Version
from kernlint.interpret.recorded.tensors import indices_of
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.functions import torch_function
from kernlint.records import replace
from kernlint.workload import HostSync, Repeat, Span, Step, Tensor, TorchOp, Workload


class Replay(Launches):
    """Makes workloads of what was traced."""

    def workload(self) -> Workload:
        kernel = self._of(self.recording.traces["kernel"])
        if "reference" not in self.recording.traces or self.edits:
            return kernel
        host, assumptions = self.host, kernel.assumptions
        host.assumptions, host.unknowns = [], []
        return replace(kernel, reference=self._of(self.recording.traces["reference"]), assumptions=assumptions)

    def _of(self, trace: Mapping[str, Any]) -> Workload:
        tables = trace["tables"]
        self.version = Version(trace, tables["tensors"], tables["places"], tables["stacks"])
        first, later = trace["calls"][0], trace["calls"][-1]
        for name, value in [*tables["parameters"], *later["inputs"]]:
            self._note_given(str(name), value, "parameter" if [name, value] in tables["parameters"] else "input")
        for call in (first, later):
            for step in call["steps"]:
                self._note_made(step)
        steps = self._steps(later)
        same = _shape_of(first) == _shape_of(later)
        inputs = [self._value(value) for _, value in later["inputs"]]
        unknown = [*map(str, later["unknown"]), *self.host.unknowns]
        assumed = [*map(str, later["assumed"]), *self.host.assumptions, *self.recording.notes]
        constants = {n: v for n, v in self.host.constants.items() if isinstance(v, int) and not isinstance(v, bool)}
        workload = Workload(
            str(later["entry"]),
            self.kernel_module.path,
            steps,
            tuple(value for value in inputs if isinstance(value, Tensor)),
            tensors_in([self._value(value) for value in later["outputs"]]),
            tuple(dict.fromkeys(assumed)),
            tuple(dict.fromkeys(unknown)),
            sizes=constants,
            traced=True,
            first_steps=None if same else self._steps(first),
        )
        return replace(workload, symbols=open_symbols(workload.first_call()))

    def _steps(self, call: Mapping[str, Any]) -> tuple[Step, ...]:
        steps = call["steps"]
        found = folded([step["key"] for step in steps], lambda body: self._loop_around([steps[i] for i in body]))
        return tuple(self._made(found, steps))

    def _made(self, items: Iterable[int | Looped], steps: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
        for item in items:
            if isinstance(item, Looped):
                span, function = item.loop
                middle = len(item.rounds) // 2
                body, earlier = (tuple(self._made(item.rounds[i], steps)) for i in (middle, max(0, middle - 1)))
                if body:
                    yield Repeat(len(item.rounds), body, span, function, earlier)
                continue
            step = self._step(steps[item])
            if step is not None:
                yield step

    def _step(self, step: Mapping[str, Any]) -> Step | None:
        place = self._place(step)
        symbol = place.function.symbol if place.function is not None else "<module>"
        if step["kind"] == "sync":
            reads = self._tensor(step["reads"]) if step["reads"] is not None else None
            return HostSync(str(step["what"]), place.span, symbol, reads)
        with self._at(place):
            if step["kind"] == "launch":
                return None if step["warmup"] else self._launch(step, place)
            return self._op(step, place.span, symbol)

    def _op(self, step: Mapping[str, Any], span: Span, symbol: str) -> TorchOp | None:
        base = str(step["name"]).partition(".")[0]
        if base == "lift_fresh":  # a number of the host's among the operands
            return None
        args = [self._value(value) for value in step["args"]]
        kwargs = {name: self._value(value) for name, value in step["kwargs"].items()}
        result = [self._tensor(index) for index in indices_of(step["result"])]
        written = [self._tensor(index) for value in step.get("written") or () for index in indices_of(value)]
        writes = tuple(written or result[:1])
        name, args, kwargs = translated(base, args, kwargs)
        with self.host.recording() as recorded, suppress(Raised, OutOfBudget):
            torch_function(self.host, name, args, kwargs, HERE)
        self.host.unknowns = [text for text in self.host.unknowns if not text.endswith(f"torch function {name}")]
        known = next((one for one in map(bare, recorded) if isinstance(one, TorchOp) and one.kind != "unknown"), None)
        given = tensors_in([args, *kwargs.values()])
        if known is None:
            reads = tuple(t for t in given if t not in written)
            kind = "elementwise" if step.get("pointwise") else "unknown" if reads else "fill"
            count = sum(t.numel or 0 for t in writes[:1]) if kind != "unknown" else None
            return TorchOp(name, kind, reads, writes, span, symbol, count)
        if known.name == "setitem":
            writes = tuple(replace(writes[0], shape=one.shape, strides=None) for one in known.writes)
        reads = known.reads if known.reads and set(known.reads) <= set(given) else given if known.reads else ()
        # How many elements there are is known now, whatever the table of functions made of the arguments.
        flops = known.flops if known.flops is not None else writes[0].numel if writes else 0
        return TorchOp(known.name, known.kind, reads, writes, span, symbol, flops, known.dims)


def _shape_of(call: Mapping[str, Any]) -> list[Any]:
    """What two calls agree in that do the same."""
    return [(step["kind"], step["key"], step.get("name"), step.get("grid")) for step in call["steps"]]
