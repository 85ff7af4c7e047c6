"""What changes under the code's feet while it runs: devices, uninitialised memory, the precision of the reference.

All three are torch function modes, so that no name that the code has bound to a torch function escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_LOW = frozenset(
    dtype
    for name in ("float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
    if (dtype := getattr(torch, name, None)) is not None
)
_NARROWING = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)
#: Their dtype argument reinterprets bits.
_BITCASTS = (torch.Tensor.view,)
_UNINITIALISED = (
    torch.empty,
    torch.empty_like,
    torch.empty_strided,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """``value`` with ``change`` applied to all that is in its lists, tuples and dictionaries."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(inner, change) for inner in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(inner, change) for inner in value)
    if isinstance(value, dict):
        return {name: mapped(inner, change) for name, inner in value.items()}
    return change(value)


class Precise(TorchFunctionMode):
    """Every floating-point type narrower than float64 that is asked for is float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _NARROWING:
            return args[0].double()
        if func not in _BITCASTS:
            args, kwargs = mapped(args, _widened), mapped(kwargs, _widened)
        return func(*args, **kwargs)


def _widened(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in _LOW else value


@contextmanager
def precise() -> Iterator[None]:
    """:class:`Precise`, with float64 as the default type too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Precise():
            yield
    finally:
        torch.set_default_dtype(before)


class Poison(TorchFunctionMode):
    """Memory that torch does not initialise holds a pattern: a NaN that no arithmetic makes, or for integers the byte
    ``fill`` throughout."""

    def __init__(self, fill: int = 0x5A) -> None:
        super().__init__()
        self.fill = fill

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in _UNINITIALISED and isinstance(result, torch.Tensor):
            bits = _bits(result)
            if bits is not None and result.device.type != "meta":
                bits.fill_(self.pattern(result.dtype))
        return result

    def pattern(self, dtype: torch.dtype) -> int:
        """The bits of an element of ``dtype`` that was not written."""
        nans = {
            torch.float64: 0x7FF8DEAD5EED0001,
            torch.float32: 0x7FC05EED,
            torch.float16: 0x7E5E,
            torch.bfloat16: 0x7FDE,
        }
        if dtype in nans:
            return nans[dtype]
        if dtype.is_floating_point:
            return 0x7F  # a NaN of every eight-bit type but the *fnuz ones, a large number of those
        if dtype is torch.bool:
            return self.fill & 1
        # Bytes are looked at as uint8, all wider types as signed integers.
        return int.from_bytes(bytes([self.fill]) * dtype.itemsize, "little", signed=dtype.itemsize > 1)

    def unwritten(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Which elements of ``tensor`` still hold the pattern, as bool[...]; None for types that are not poisoned."""
        bits = _bits(tensor)
        return None if bits is None else bits == self.pattern(tensor.dtype)

    @staticmethod
    def telling(dtype: torch.dtype) -> bool:
        """Whether the pattern of ``dtype`` cannot be a result."""
        return dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16)


_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _bits(tensor: torch.Tensor) -> torch.Tensor | None:
    """The same memory as integers."""
    if tensor.dtype.is_complex or tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    return tensor.view(_INTEGERS[tensor.dtype.itemsize])


class PretendCuda(TorchFunctionMode):
    """A machine without a GPU looks like one with a GPU: tensors say that they are on ``cuda:0`` and stay on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # Each look at a getter makes another wrapper of it: equal, not the same.
        if func == torch.Tensor.is_cuda.__get__:
            return True
        if func == torch.Tensor.device.__get__:
            return torch.device("cuda", 0)
        if func == torch.Tensor.get_device:
            return 0
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        return func(*mapped(args, _on_host), **mapped(kwargs, _on_host))


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


def pretend_cuda(device: Mapping[str, Any]) -> None:
    """Make the functions of ``torch.cuda`` that wrappers ask answer as on ``device`` (``name``, ``sm_count``, ``capability``,
    ``memory_bytes``, ``shared_bytes``). For the rest of the process."""
    capability = tuple(device.get("capability") or (9, 0))
    properties = SimpleNamespace(
        name=device.get("name", "GPU"),
        major=capability[0],
        minor=capability[1],
        multi_processor_count=device.get("sm_count", 132),
        total_memory=device.get("memory_bytes", 80 << 30),
        shared_memory_per_block_optin=device.get("shared_bytes", 232_448),
        warp_size=device.get("warp_size", 32),
    )
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda *_: None,
        "synchronize": lambda *_, **__: None,
        "empty_cache": lambda: None,
        "device": lambda *_, **__: nullcontext(),
        "stream": lambda *_, **__: nullcontext(),
        "get_device_name": lambda *_: properties.name,
        "get_device_capability": lambda *_: capability,
        "get_device_properties": lambda *_: properties,
        "manual_seed": lambda *_: None,
        "manual_seed_all": lambda *_: None,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
