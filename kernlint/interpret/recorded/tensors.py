"""The tensors and values of a trace in the terms of the analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernlint.interpret.host.values import HostDescriptor
from kernlint.interpret.recorded.places import Places, bound_name
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Storage, Tensor
from kernlint.workload import dtype as dt

_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


_FILLED = frozenset(
    "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange linspace eye".split()
)


_EMPTY = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())


class Tensors(Places):
    """Makes tensors and values."""

    def _note_given(self, name: str, value: Any, origin: str) -> None:
        if isinstance(value, dict) and "tensor" in value:
            storage = self.version.tensors[value["tensor"]][0]
            self.version.names.setdefault(storage, name.rpartition(".")[2])
            self.version.origins.setdefault(storage, (origin, None))
        elif isinstance(value, dict) and "list" in value:
            for item in value["list"]:
                self._note_given(name, item, origin)

    def _note_made(self, step: Mapping[str, Any]) -> None:
        """The storages that ``step`` makes, where they come from and what they are called."""
        if step["kind"] != "op":
            return
        for index in indices_of(step["result"]):
            storage = self.version.tensors[index][0]
            if storage not in self.version.origins:
                base = str(step["name"]).partition(".")[0]
                origin = "filled" if base in _FILLED else "empty" if base in _EMPTY else "result"
                origin = "constant" if base in ("tensor", "copy") else origin
                place = self._place(step)
                self.version.origins[storage] = origin, place.span
                name = bound_name(place)
                if name:
                    self.version.names.setdefault(storage, name)

    def _tensor(self, index: int) -> Tensor:
        version = self.version
        if index not in version.made:
            number, dtype, shape, strides, offset = version.tensors[index]
            if not all(isinstance(n, int) for n in (number, offset, *shape, *strides)) or len(shape) != len(strides):
                raise ValueError("a tensor without a shape")
            origin, span = version.origins.get(number, ("constant", None))
            storage = Storage(number + 1, origin, span)
            name = version.names.get(number, "")
            version.made[index] = Tensor(name, dt.find(str(dtype)), tuple(shape), tuple(strides), storage, offset)
        return version.made[index]

    def _value(self, value: Any) -> Any:
        """A value as the analysis has it."""
        if isinstance(value, str):
            return _NUMBERS.get(value, value)
        if not isinstance(value, dict):
            return [self._value(item) for item in value] if isinstance(value, list) else value
        if "tensor" in value:
            tensor = self._tensor(value["tensor"])
            return replace(tensor, dtype=dt.find(str(value["as"]))) if "as" in value else tensor
        if "dtype" in value:
            return dt.find(str(value["dtype"])) or Unknown(f"type {value['dtype']}")
        if "list" in value:
            return [self._value(item) for item in value["list"]]
        if "slice" in value:
            return slice(*map(self._value, value["slice"]))
        if "descriptor" in value:
            base = self._value(value["descriptor"])
            shape, strides, block = (tuple(self._value(value[n])) for n in ("shape", "strides", "block_shape"))
            return HostDescriptor(base, shape, strides, tuple(map(int, block)))
        if "function" in value:
            return self._function(value["function"])
        return Unknown(str(value.get("unknown", "value")))


def indices_of(value: Any) -> list[int]:
    """The tensors in a reported value."""
    if isinstance(value, dict):
        if "tensor" in value:
            return [int(value["tensor"])]
        return [index for item in value.get("list", ()) for index in indices_of(item)]
    return [index for item in value for index in indices_of(item)] if isinstance(value, list) else []
