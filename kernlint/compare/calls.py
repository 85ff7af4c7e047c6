"""A call as values: torch calls as :mod:`kernlint.generate.calls` reads them, and launches by what they leave in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kernlint.compare.columns import NotCompared
from kernlint.compare.launches import Launched
from kernlint.generate.calls.reader import Reader
from kernlint.generate.calls.table import FUNCTIONS
from kernlint.generate.calls.writer import Writer
from kernlint.generate.layouts import index_of
from kernlint.generate.values import CannotGenerate, Value, View, identity
from kernlint.workload import HostSync, Launch, Step, Tensor, TorchOp, Workload

#: What a layer's parameter holds that nobody has set: numbers around zero.
_PARAMETER = ("uniform", -1.0, 1.0)


def _draw(kind: str, *limits: float) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        return Value("draw", w.shape, w.dtype, attributes={"draw": (kind, *limits), "key": w.out.storage.id})

    return make


def _draw_integers(w: Writer) -> Value:
    numbers = [one for one in w.args if isinstance(one, int)]
    low, high = w.kwargs.get("low", 0), w.kwargs.get("high")
    if high is None and numbers:
        low, high = (numbers[0], numbers[1]) if len(numbers) > 1 else (low, numbers[0])
    if not isinstance(low, int) or not isinstance(high, int) or high <= low:
        raise CannotGenerate("random integers between what is not known")
    return Value("draw", w.shape, w.dtype, attributes={"draw": ("integers", low, high), "key": w.out.storage.id})


#: What makes numbers by chance: they are of the same kind.
_DRAWN: Mapping[str, Callable[[Writer], Value]] = {
    **dict.fromkeys(("rand", "rand_like"), _draw("uniform", 0.0, 1.0)),
    **dict.fromkeys(("randn", "randn_like"), _draw("normal", 0.0, 1.0)),
    "randint": _draw_integers,
}


class CallReader(Reader):
    """Reads ``workload``. What an input holds is what the steps ``made`` say that make it. ``keys`` name the inputs by path; those with
    a name in ``sources`` hold these. What has none of all this, and random numbers without a name, is not known."""

    functions: Mapping[str, Callable[[Writer], Value]] = MappingProxyType({**FUNCTIONS, **_DRAWN})

    def __init__(
        self, workload: Workload, made: Sequence[Step], keys: Mapping[str, str], sources: Mapping[str, Value]
    ) -> None:
        self.keys = keys
        self.sources = dict(sources)
        self._making = made
        #: The steps that wrote each storage last.
        self.writers: dict[int, Step] = {}
        super().__init__(workload, {})

    def _begin(self) -> None:
        for step in self._making:
            try:
                self._step(step)
            except (CannotGenerate, NotCompared):
                for tensor in step.writes if isinstance(step, TorchOp) else ():
                    self.holds.pop(tensor.storage.id, None)
        self._prepared, self.holds, self.writers = self.holds, {}, {}
        super()._begin()

    def _input(self, path: str, tensor: Tensor) -> None:
        if tensor.shape is None or tensor.dtype is None:
            return
        key, source = self.keys.get(path, path), self._source(path, tensor)
        value = Value("input", tensor.shape, tensor.dtype, (source,), {"path": key}, path.rpartition(".")[2])
        self.inputs[tensor.storage.id] = value
        self.holds[tensor.storage.id] = value, tensor

    def _source(self, path: str, tensor: Tensor) -> View:
        """What an input holds."""
        assert tensor.shape is not None and tensor.dtype is not None
        key = self.keys.get(path, "")
        known = self.sources.get(key)
        if known is None or (known.shape, known.dtype) != (tensor.shape, tensor.dtype):
            made = self._prepared.get(tensor.storage.id)
            op, views, attributes = "unmatched", tuple[View, ...](), dict[str, Any]()
            own = made is not None and any(value.op == "draw" for value in made[0].walk())
            if made is not None and (key or not own):
                op, views = "cast", (View(made[0], index_of(made[1], tensor, {})),)
            elif key and tensor.dtype.is_float:
                op, attributes = "draw", {"draw": _PARAMETER, "key": key}
            known = Value(op, tensor.shape, tensor.dtype, views, attributes, path)
            if key:
                self.sources[key] = known
        return View(known, identity(tensor.shape))

    def _step(self, step: Step) -> None:
        if isinstance(step, HostSync):
            return
        if isinstance(step, Launch):
            self._launch(step)
        else:
            super()._step(step)

    def read(self, step: TorchOp) -> None:
        for tensor in step.writes:
            self.writers[tensor.storage.id] = step
        if step.kind == "alloc" or (step.call is not None and step.call.function.startswith(("empty", "new_empty"))):
            for out in step.writes:
                if out.shape is None or out.dtype is None:
                    raise NotCompared("a tensor of unknown shape")
                self.holds[out.storage.id] = Value("undefined", out.shape, out.dtype), out
        else:
            super().read(step)

    def _launch(self, launch: Launch) -> None:
        launched = Launched(launch, dict(self.holds))
        for storage in launched.written:
            if storage not in self.holds:
                raise NotCompared("a store to what is not known")
            before, whole = self.holds[storage]
            attributes = {"launched": launched, "storage": storage, "whole": whole}
            views = (before.view,)
            self.holds[storage] = Value("left", before.shape, before.dtype, views, attributes), whole
            self.writers[storage] = launch
