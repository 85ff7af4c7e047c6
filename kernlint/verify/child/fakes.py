"""Fake tensors under the program's feet: they have shapes, strides and aliases but no contents, lie in the memory of the host
and say that they are on the device.

Two modes watch. The outer one, on torch functions, answers what is asked of devices, turns reads of values into waits of the
host, and records as one step what torch does otherwise on a GPU than here. The inner one, below autograd, records every
operation that remains.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from kernlint.verify.child.modes import mapped, pretend_cuda
from kernlint.verify.child.recorder import Recorder, doubtful, mentions_doubt

#: Elements up to which the contents of a tensor are computed beside its fake, where they follow from the program: of whole numbers
#: and truth values, which index and select, more than of others.
_MOST_CONTENTS = 1 << 18
_MOST_FLOATS = 1 << 16
#: Items of a list that stands for what a tensor holds.
_MOST_ITEMS = 4_096
#: Between the addresses that tensors say they have.
_APART = 1 << 42

#: One kernel, or one library call, on a GPU; several operations in the memory of the host.
_WHOLE: Mapping[Any, str] = {
    F.dropout: "dropout",
    torch.dropout: "dropout",
    F.scaled_dot_product_attention: "scaled_dot_product_attention",
    F.rms_norm: "rms_norm",
    torch.rms_norm: "rms_norm",
    torch.lstm: "lstm",
    torch.gru: "gru",
    torch.rnn_tanh: "rnn",
    torch.rnn_relu: "rnn",
}
_READS = {
    torch.Tensor.item: ".item()",
    torch.Tensor.tolist: ".tolist()",
    torch.Tensor.__bool__: "the value of a tensor in a condition",
    torch.Tensor.__int__: "int() of a tensor",
    torch.Tensor.__float__: "float() of a tensor",
    torch.Tensor.__index__: "a tensor as an index",
    torch.Tensor.numpy: ".numpy()",
    torch.is_nonzero: "the value of a tensor in a condition",
    torch.equal: "torch.equal",
    torch.allclose: "torch.allclose",
}
_TO_HOST = (torch.Tensor.cpu,)
_TO_DEVICE = (torch.Tensor.cuda,)
_FACTORIES = frozenset(
    "empty zeros ones full rand randn randint arange linspace tensor as_tensor eye randperm empty_strided scalar_tensor "
    "logspace normal from_numpy".split()
)


def _device_type(device: Any) -> str | None:
    """``cuda``, ``cpu``, or None for what names no device."""
    if isinstance(device, torch.device):
        return device.type
    if isinstance(device, str):
        return device.partition(":")[0]
    return "cuda" if isinstance(device, int) and not isinstance(device, bool) else None


_IS_CUDA, _IS_CPU = (getattr(torch.Tensor, name).__get__ for name in ("is_cuda", "is_cpu"))
_HOST = torch.device("cpu")
_DEVICE = torch.device("cuda", 0)


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type != "cpu":
        return _HOST
    if isinstance(value, str) and value.partition(":")[0] in ("cuda", "xpu", "npu", "hip"):
        return "cpu"
    return value


class Above(TorchFunctionMode):
    """The outer mode."""

    def __init__(self, recorder: Recorder, below: Below) -> None:
        super().__init__()
        self.recorder = recorder
        self.below = below

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return self._getter(func, args)
        if func is torch.device:
            return func(*args, **kwargs)
        self.recorder.begin_call()
        if func in _READS:
            return self._read(func, args, kwargs)
        if func is torch.Tensor.get_device:
            return 0
        if func is torch.Tensor.data_ptr:
            x = args[0]
            return (1 + self.recorder.storage(x)) * _APART + x.storage_offset() * x.element_size()
        if func in _TO_HOST or func in _TO_DEVICE:
            return self._moved(args[0], "cpu" if func in _TO_HOST else "cuda")
        if func is torch.Tensor.pin_memory or func is torch.Tensor.is_pinned:
            return args[0] if func is torch.Tensor.pin_memory else False
        if func is torch.Tensor.to:
            return self._to(args, kwargs)
        if func in (torch.tensor, torch.as_tensor) and args and not isinstance(args[0], torch.Tensor):
            return self._written_out(func, args, kwargs)
        if func is torch.Tensor.__getitem__ and mentions_doubt(args[1]):
            self.recorder.doubt("how long a slice is, between bounds read from a tensor (all of the axis is taken)")
            args = args[0], mapped(args[1], lambda v: slice(None) if isinstance(v, slice) and mentions_doubt(v) else v)
        if func in _WHOLE:
            return self._whole(_WHOLE[func], func, args, kwargs)
        wanted = _device_type(kwargs.get("device")) if kwargs.get("device") is not None else None
        if "pin_memory" in kwargs:
            kwargs = {k: v for k, v in kwargs.items() if k != "pin_memory"}
        if "generator" in kwargs:
            kwargs = {**kwargs, "generator": None}
        host = wanted == "cpu" and name.removesuffix("_like").removeprefix("new_") in _FACTORIES
        # What is made in the memory of the host takes nothing of the device.
        with self.recorder.pause() if host else nullcontext():
            result = func(*mapped(args, _on_host), **mapped(kwargs, _on_host))
        if host and isinstance(result, torch.Tensor) and not self.recorder.paused:
            self.recorder.hosted.add(self.recorder.storage(result))
        return result

    def _getter(self, func: Any, args: Any) -> Any:
        # Each look at a getter makes another wrapper of it: equal, not the same.
        if func in (_IS_CUDA, _IS_CPU):
            return self.recorder.is_hosted(args[0]) == (func == _IS_CPU)
        return func(*args)

    def _moved(self, x: torch.Tensor, where: str) -> torch.Tensor:
        recorder = self.recorder
        if recorder.paused or (where == "cpu") == recorder.is_hosted(x):
            return x
        with recorder.pause():
            copy = torch.empty_like(x)
            self.below.follow(x, copy)
        if where == "cpu":
            recorder.step(kind="sync", what=".cpu()", reads=recorder.tensor(x))
            recorder.hosted.add(recorder.storage(copy))
        else:
            recorder.step(kind="op", name="copy", args=[recorder.value(x)], kwargs={}, result=recorder.value(copy))
        return copy

    def _to(self, args: Any, kwargs: Any) -> Any:
        x, *rest = args
        named = [*rest, kwargs.get("device")]
        other = rest[0] if rest and isinstance(rest[0], torch.Tensor) else kwargs.get("other")
        devices = [_device_type(value) for value in named if isinstance(value, (str, torch.device, int))
                   and not isinstance(value, bool)]  # fmt: skip
        if isinstance(other, torch.Tensor):
            devices, rest, kwargs = ["cpu" if self.recorder.is_hosted(other) else "cuda"], [other.dtype, *rest[1:]], {
                k: v for k, v in kwargs.items() if k != "other"
            }  # fmt: skip
        if devices and devices[0] is not None:
            x = self._moved(x, "cpu" if devices[0] == "cpu" else "cuda")
        return torch.Tensor.to(x, *mapped(rest, lambda v: "cpu" if isinstance(v, int) and not isinstance(v, bool)
                               else _on_host(v)), **mapped(kwargs, _on_host))  # fmt: skip

    def _read(self, func: Any, args: Any, kwargs: Any) -> Any:
        recorder, x = self.recorder, args[0]
        if not recorder.paused and not recorder.is_hosted(x):
            recorder.step(kind="sync", what=_READS[func], reads=recorder.tensor(x))
        contents = self.below.contents(x)
        if contents is not None and func not in (torch.equal, torch.allclose, torch.Tensor.numpy):
            with _disable_current_modes():
                return func(contents, *args[1:], **kwargs)
        recorder.assume(f"what {_READS[func]} gives is not known")
        if func in (torch.Tensor.__bool__, torch.is_nonzero, torch.equal, torch.allclose):
            return recorder.decide()
        if func is torch.Tensor.numpy:
            with _disable_current_modes():
                return torch.ones(tuple(x.shape), dtype=x.dtype).numpy()
        return _filled(x, tuple(x.shape) if func is torch.Tensor.tolist else (), func, recorder)

    def _written_out(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A tensor of numbers that the program has: made on the host, and copied where it is to lie on the device."""
        recorder, device = self.recorder, kwargs.get("device")
        # What lies in tensors among the numbers is read first.
        args = mapped(args, lambda v: self._read(torch.Tensor.item, (v,), {}) if isinstance(v, torch.Tensor) else v)
        with recorder.pause():
            result = func(*args, **mapped(kwargs, _on_host))
        if recorder.paused:
            return result
        if device is None or _device_type(device) == "cpu":
            recorder.hosted.add(recorder.storage(result))
            return result
        if isinstance(args[0], (list, tuple)) and result.numel():
            recorder.step(kind="sync", what="copies a host list to the device", reads=None)
        recorder.step(kind="op", name="tensor", args=[], kwargs={}, result=recorder.value(result))
        return result

    def _whole(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        recorder = self.recorder
        if recorder.paused:
            return func(*args, **kwargs)
        with recorder.pause():
            result = func(*args, **kwargs)
        if result is not args[0]:
            recorder.step(
                kind="op", name=name, args=[recorder.value(a) for a in args],
                kwargs={k: recorder.value(v) for k, v in kwargs.items()}, result=recorder.value(result),
            )  # fmt: skip
        return result


def _filled(x: torch.Tensor, shape: tuple[int, ...], func: Any, recorder: Recorder) -> Any:
    if shape:
        return [_filled(x, shape[1:], func, recorder) for _ in range(min(shape[0], _MOST_ITEMS))]
    if func is torch.Tensor.__index__:
        recorder.doubt("an index read from a tensor (it is taken to be 1)")
        return 1
    whole = func is torch.Tensor.__int__ or (func is not torch.Tensor.__float__ and not x.dtype.is_floating_point)
    if func in (torch.Tensor.__int__, torch.Tensor.__float__):
        return 1 if whole else 1.0  # Python has it no other way
    if x.dtype is torch.bool:
        return recorder.decide()
    return doubtful(1 if whole else 1.0, recorder)


class Below(TorchDispatchMode):
    """The inner mode. Beside the fakes it computes the contents of small tensors that follow from the program alone."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self._contents: dict[int, tuple[Any, torch.Tensor]] = {}
        self._written: set[int] = set()

    # -- contents ---------------------------------------------------------------------------------------------------

    def contents(self, x: torch.Tensor) -> torch.Tensor | None:
        found = self._contents.get(id(x))
        if found is None or found[0]() is not x or self.recorder.storage(x) in self._written:
            return None
        return found[1]

    def keep(self, x: torch.Tensor, contents: torch.Tensor) -> None:
        self._contents[id(x)] = weakref.ref(x), contents

    def follow(self, x: torch.Tensor, copy: torch.Tensor) -> None:
        """``copy`` holds what ``x`` does."""
        known = self.contents(x)
        if known is not None:
            with _disable_current_modes():
                self.keep(copy, known.clone())

    def written(self, x: torch.Tensor) -> None:
        """A kernel may have written ``x``."""
        self._written.add(self.recorder.storage(x))

    def _compute(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        given = [*_tensors(args), *_tensors(kwargs)]
        made = _tensors(result)
        if not made or any(
            x.is_complex() or x.numel() > (_MOST_FLOATS if x.is_floating_point() else _MOST_CONTENTS) for x in made
        ):
            self._forget(func, given)
            return
        real = {id(x): self._real(x) for x in given}
        if "empty" in func.name() or any(found is None for found in real.values()):
            self._forget(func, given)
            return
        with _disable_current_modes():
            try:
                values = func(
                    *mapped(args, lambda v: real.get(id(v), v)), **mapped(kwargs, lambda v: real.get(id(v), v))
                )
            except Exception:
                self._forget(func, given)
                return
        for x, value in zip(made, _tensors(values)):
            if tuple(x.shape) == tuple(value.shape):
                self.keep(x, value)

    def _real(self, x: torch.Tensor) -> torch.Tensor | None:
        return self.contents(x) if isinstance(x, FakeTensor) else x

    def _forget(self, func: Any, given: list[torch.Tensor]) -> None:
        """Of what an operation changes in place nothing is known any more."""
        if func._schema.is_mutable:
            for x in given[:1]:
                self._written.add(self.recorder.storage(x))

    # -- operations -------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":
            return func(*args, **kwargs)
        try:
            result = func(*args, **kwargs)
        except (DynamicOutputShapeException, DataDependentOutputException):
            result = self._by_values(func, args, kwargs)
        self._compute(func, args, kwargs, result)
        if not self.recorder.paused:
            self._record(func, args, kwargs, result)
        return result

    def _by_values(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of an operation whose shape or value depends on contents. Raises what the fakes raised where nobody
        can say what it looks like."""
        recorder = self.recorder
        given = _tensors(args)
        real = {id(x): self._real(x) for x in given}
        name = func.name().partition("::")[2].partition(".")[0]
        if not recorder.paused and given and not all(map(recorder.is_hosted, given)):
            recorder.step(kind="sync", what=f"torch.{name.lstrip('_')}", reads=recorder.tensor(given[0]))
        if all(found is not None for found in real.values()):
            with _disable_current_modes():
                values = func(*mapped(args, lambda v: real.get(id(v), v)), **kwargs)
            return mapped(values, self._faked)
        if name == "_local_scalar_dense":
            recorder.doubt("a value read from a tensor (it is taken to be 1)")
            return 1.0 if given[0].dtype.is_floating_point else 1
        x = given[0]
        shapes: Mapping[str, Callable[[], Any]] = {
            "nonzero": lambda: x.new_empty((x.numel(), x.dim()), dtype=torch.int64),
            "masked_select": lambda: x.new_empty((x.numel(),)),
            "bincount": lambda: x.new_empty((max(1, *(a for a in [*args, kwargs.get("minlength")] if isinstance(a, int)), 1),),
                                            dtype=torch.int64),
            "_unique2": lambda: (x.new_empty((x.numel(),)), x.new_empty(x.shape, dtype=torch.int64),
                                 x.new_empty((x.numel(),), dtype=torch.int64)),
        }  # fmt: skip
        if name == "index":
            picked = [i for i in args[1] if isinstance(i, torch.Tensor)]
            if len(args[1]) == 1 and len(picked) == 1 and picked[0].dtype in (torch.bool, torch.uint8):
                rest = x.shape[picked[0].dim() :]
                shapes = {"index": lambda: x.new_empty((picked[0].numel(), *rest))}
        if name not in shapes:
            raise
        recorder.doubt(f"how many elements torch.{name.lstrip('_')} gives (all are counted)")
        with recorder.pause():
            return shapes[name]()

    def _faked(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        with self.recorder.pause():
            fake = torch.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype)
        self.keep(fake, value)
        return fake

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        recorder = self.recorder
        given, made = [*_tensors(args), *_tensors(kwargs)], _tensors(result)
        storages = {recorder.storage(x) for x in given}
        mutates = func._schema.is_mutable
        if not mutates and made and all(recorder.storage(x) in storages for x in made):
            return  # a view
        if given and all(map(recorder.is_hosted, given)):
            recorder.hosted.update(recorder.storage(x) for x in made)
            return
        if not made and not mutates:
            return
        if func is torch.ops.aten.scalar_tensor.default:
            recorder.hosted.add(recorder.storage(made[0]))  # a number among the operands, which kernels get as such
            return
        if func.namespace != "aten":
            name = func.name()
        else:
            name = func.name().partition("::")[2]
        written = None
        if mutates:
            written = [recorder.value(args[i]) for i, a in enumerate(func._schema.arguments)
                       if a.alias_info is not None and a.alias_info.is_write and i < len(args)]  # fmt: skip
            written += [recorder.value(kwargs[a.name]) for a in func._schema.arguments
                        if a.alias_info is not None and a.alias_info.is_write and a.name in kwargs]  # fmt: skip
        recorder.step(
            kind="op", name=name, args=[recorder.value(a) for a in args],
            kwargs={k: recorder.value(v) for k, v in kwargs.items()},
            result=recorder.value(result), written=written, pointwise=torch.Tag.pointwise in func.tags,
        )  # fmt: skip


def _tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    mapped(values if isinstance(values, (list, tuple, dict)) else [values],
           lambda v: found.append(v) if isinstance(v, torch.Tensor) else None)  # fmt: skip
    return found


# -- what else a program asks of torch --------------------------------------------------------------------------------


class _Graph:
    """A CUDA graph: what was done while it was captured is done again when it is replayed."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.steps: list[Any] = []

    def replay(self) -> None:
        if not self.recorder.paused:
            self.recorder.steps += self.steps

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


@contextmanager
def _captured(graph: Any, *args: Any, **kwargs: Any) -> Iterator[None]:
    before = len(graph.recorder.steps)
    yield
    graph.steps = graph.recorder.steps[before:]


class _Stub:
    """Whatever of streams and events programs use: it does nothing, and takes no time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cuda_stream = 0

    def elapsed_time(self, other: Any) -> float:
        return 1.0

    def query(self) -> bool:
        return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def _apply(self: torch.nn.Module, fn: Callable[[Any], Any], recurse: bool = True) -> torch.nn.Module:
    """``Module._apply`` without exchanging what is behind a parameter, which fakes do not take."""
    if recurse:
        for child in self.children():
            child._apply(fn)
    for name, value in list(self._parameters.items()):
        if value is not None:
            new = fn(value.detach())
            self._parameters[name] = torch.nn.Parameter(new, value.requires_grad and new.is_floating_point())
    for name, buffer in list(self._buffers.items()):
        if buffer is not None:
            self._buffers[name] = fn(buffer)
    return self


def _unscripted(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    return function if callable(function) else lambda inner: inner


def _device_for(recorder: Recorder, plain: Any) -> property:
    """The device that a fake says it is on: to the program the GPU, to torch the host, where it has the operations for it."""

    def device(self: Any) -> Any:
        if recorder.file_of(sys._getframe(1).f_code) is None:
            return plain.__get__(self)
        return _HOST if recorder.is_hosted(self) else _DEVICE

    return property(device)


def pretend(device: Mapping[str, Any], recorder: Recorder) -> None:
    """Make torch answer as on ``device``, for the rest of the process."""
    pretend_cuda(device)

    def synchronize(*args: Any, **kwargs: Any) -> None:
        recorder.begin_call()
        recorder.step(kind="sync", what="torch.cuda.synchronize", reads=None)

    cuda: dict[str, Any] = {
        "synchronize": synchronize,
        "is_bf16_supported": lambda *_, **__: tuple(device.get("capability") or (9, 0)) >= (8, 0),
        "_lazy_init": lambda *_: None,
        "current_stream": _Stub,
        "default_stream": _Stub,
        "Stream": _Stub,
        "Event": _Stub,
        "CUDAGraph": lambda *_, **__: _Graph(recorder),
        "graph": _captured,
        "device": _Stub,
        "stream": _Stub,
        "memory_allocated": lambda *_: 0,
        "max_memory_allocated": lambda *_: 0,
        "mem_get_info": lambda *_: (int(device.get("memory_bytes", 0)), int(device.get("memory_bytes", 0))),
        "reset_peak_memory_stats": lambda *_: None,
        "is_current_stream_capturing": lambda *_: False,
        "nvtx": types.SimpleNamespace(range_push=lambda *_: 0, range_pop=lambda *_: 0, range=_Stub),
    }
    for name, answer in cuda.items():
        setattr(torch.cuda, name, answer)
    tensors: Any = FakeTensor
    library: Any = torch
    tensors.device = _device_for(recorder, tensors.device)
    # Fakes have a way of their own, which reads each element.
    tensors.tolist = lambda self: torch.Tensor.tolist(self)
    library.compile = _unscripted
    library.jit.script = _unscripted
    library.nn.Module._apply = _apply
    torch.set_default_device = lambda *_: None


@contextmanager
def faked(recorder: Recorder) -> Iterator[Below]:
    """All tensors made within are fakes, and what is done with them is recorded."""
    below = Below(recorder)
    with FakeTensorMode(allow_non_fake_inputs=True), below, Above(recorder, below):
        yield below
