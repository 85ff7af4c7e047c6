"""How torch functions take their arguments: by place or by name, sizes spread or as one, a device by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from kernlint.interpret.python.arguments import Kwargs
from kernlint.interpret.torch.shapes import Shape
from kernlint.interpret.values import Instance, ReadValue, Unknown, is_huge
from kernlint.workload import Dtype, Expr, Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


def shape_given(values: Any) -> Shape | None:
    """A shape given as ``(2, 3)``, ``[2, 3]`` or spread over arguments."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    if all(isinstance(v, (int, Expr)) and not isinstance(v, bool) for v in values):
        return tuple(values)
    return None


def dtype_given(kwargs: Kwargs, default: Dtype | None) -> Dtype | None:
    value = kwargs.get("dtype")
    return value if isinstance(value, Dtype) else default if value is None else None


def tensors_in(values: Any) -> tuple[Tensor, ...]:
    """The tensors in ``values``, however deep; none where nobody can have put so many."""
    return () if is_huge(values) else tuple(_tensors_within(values))


def _tensors_within(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors_within(value)


def note_sizes(h: HostState, x: Tensor, values: Any) -> None:
    """``values`` are the sizes of ``x``, which is made: whole numbers, some of which may have been read from a tensor."""
    if len(values) > 1 or any(isinstance(value, (tuple, list)) for value in values):
        h.used_as_integers(tensors_in(values))  # one alone may be a tuple that nobody knows
    note_read_sizes(h, x, values)


def note_read_sizes(h: HostState, x: Tensor, values: Any) -> None:
    """Remember where the host has read those of ``values``, the sizes of ``x``, that it has read from a tensor."""
    for value in values:
        if isinstance(value, (tuple, list)):
            note_read_sizes(h, x, value)
        elif isinstance(value, slice):
            note_read_sizes(h, x, (value.start, value.stop))
        elif isinstance(value, ReadValue):
            h.read_sizes[x.storage.id] = h.read_sizes.get(x.storage.id, frozenset()) | value.places


#: The device of another vendor, whatever it is called.
ELSEWHERE = Instance(None, "torch.device", {"type": Unknown("device"), "index": None})


@cache
def device_of(name: str) -> Instance:
    """What ``torch.device(name)`` makes. A tensor that a file makes without naming a device stands for one on the device in
    question: whoever measures the file moves its inputs there."""
    kind, _, index = name.partition(":")
    return Instance(None, "torch.device", {"type": kind, "index": int(index) if index.isdigit() else None})


def names_cpu(device: Any) -> bool:
    """Whether ``device``, a name or a ``torch.device``, is the host."""
    if isinstance(device, Instance) and device.kind == "torch.device":
        device = device.attrs["type"]
    return isinstance(device, str) and device == "cpu"


def on_cpu(kwargs: Kwargs) -> bool:
    """Whether the arguments of a constructor ask for the memory of the host."""
    return names_cpu(kwargs.get("device")) or kwargs.get("pin_memory") is True
