"""What a traced call does, as plain data: tables of tensors and of places, and the steps in order that refer to them."""

from __future__ import annotations

import enum
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import torch

import kernlint

#: Steps of one call; loops that make more are cut off.
MAX_STEPS = 40_000
#: Items of one list among arguments.
_MOST_ITEMS = 4_096
_MODULE_CALL = "_call_impl"


#: Whose code is no part of the program, wherever that lies: this package's and Python's own.
_OTHERS = (
    os.path.dirname(os.path.abspath(kernlint.__file__)) + os.sep,
    sysconfig.get_paths()["stdlib"] + os.sep,
    "<",
)


class TooLong(Exception):
    """The call makes more steps than are kept."""


class Recorder:
    """``files`` are the names that source files go by in the record, by their path here; code anywhere below one of ``folders``
    counts as the program's own too."""

    def __init__(self, files: Mapping[str, str], folders: tuple[str, ...]) -> None:
        self.files = dict(files)
        self.folders = tuple(folder.rstrip(os.sep) + os.sep for folder in folders)
        self.names: dict[CodeType, str | None] = {}
        self.steps: list[dict[str, Any]] = []
        self.tensors: list[list[Any]] = []
        self.places: list[list[Any]] = []
        self.stacks: list[list[int]] = []
        self.unknown: dict[str, None] = {}
        self.assumed: dict[str, None] = {}
        self.paused = 1
        #: What conditions on values that nobody knows come to, and whether there was any.
        self.holds = True
        self.decided = False
        #: How many steps the torch function that runs has made before.
        self._in_call = 0
        #: Where launches go instead, while the configurations of a tuner are tried.
        self.launches: list[dict[str, Any]] | None = None
        self.hosted: set[int] = set()
        self._tensor_ids: dict[Any, int] = {}
        self._place_ids: dict[Any, int] = {}
        self._stack_ids: dict[Any, int] = {}
        #: By the address of a storage, which it keeps alive so that no other one gets it.
        self._storages: dict[int, tuple[int, Any]] = {}

    # -- steps ------------------------------------------------------------------------------------------------------

    @contextmanager
    def recording(self) -> Iterator[None]:
        self.steps, self.unknown, self.assumed = [], {}, {}
        self.paused = 0
        try:
            yield
        finally:
            self.paused = 1

    @contextmanager
    def pause(self) -> Iterator[None]:
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1

    def step(self, **what: Any) -> None:
        if self.paused:
            return
        if len(self.steps) >= MAX_STEPS:
            raise TooLong(f"the call makes more than {MAX_STEPS} steps")
        stack, key = self._stack()
        self.steps.append({**what, "stack": stack, "key": key})

    def doubt(self, what: str) -> None:
        """Something of the call hangs on a value that nobody knows."""
        if not self.paused:
            place = self.line()
            self.unknown.setdefault(f"line {place}: {what}" if place else what)

    def decide(self) -> bool:
        """What a condition on a value read from a tensor comes to."""
        self.decided = True
        self.doubt(f"a condition on a value read from a tensor (it is taken {'' if self.holds else 'not '}to hold)")
        return self.holds

    def assume(self, what: str) -> None:
        if not self.paused:
            place = self.line()
            self.assumed.setdefault(f"line {place}: {what}" if place else what)

    # -- places -----------------------------------------------------------------------------------------------------

    def file_of(self, code: CodeType) -> str | None:
        if code not in self.names:
            path = code.co_filename
            name = self.files.get(path)
            if name is None and not path.startswith(_OTHERS) and "site-packages" not in path:
                name = path if path.startswith(self.folders) else None
            self.names[code] = name
        return self.names[code]

    def line(self) -> int | None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self.file_of(frame.f_code) is not None:
                return frame.f_lineno
            frame = frame.f_back
        return None

    def _stack(self) -> tuple[int, int]:
        """The places of the program that are being executed, innermost first, and a number that two steps share which come of
        the same place, on the same layer of a model."""
        places: list[int] = []
        key: list[Any] = [self._in_call]
        self._in_call += 1
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if self.file_of(code) is not None:
                places.append(self._place(code, frame.f_lasti, frame.f_lineno))
                key.append((id(code), frame.f_lasti))
            elif code.co_name == _MODULE_CALL:
                key.append(id(frame.f_locals.get("self")))
            frame = frame.f_back
        known = self._stack_ids.setdefault(tuple(places), len(self.stacks))
        if known == len(self.stacks):
            self.stacks.append(places)
        return known, self._stack_ids.setdefault(("key", *key), len(self._stack_ids))

    def begin_call(self) -> None:
        self._in_call = 0

    def _place(self, code: CodeType, instruction: int, line: int) -> int:
        asked = code, instruction
        if asked not in self._place_ids:
            position: tuple[int | None, ...] = (line, None, None, None)
            if hasattr(code, "co_positions"):
                for number, found in enumerate(code.co_positions()):
                    if number == instruction // 2:
                        position = found
                        break
            self._place_ids[asked] = len(self.places)
            # (line, end_line, column, end_column), columns in bytes from 0.
            self.places.append([self.file_of(code), code.co_firstlineno, *position])
        return self._place_ids[asked]

    # -- values -----------------------------------------------------------------------------------------------------

    def storage(self, tensor: torch.Tensor) -> int:
        memory = tensor.untyped_storage()
        return self._storages.setdefault(memory._cdata, (len(self._storages), memory))[0]

    def tensor(self, tensor: torch.Tensor) -> int:
        key = (self.storage(tensor), _dtype_name(tensor.dtype), tuple(tensor.shape), tensor.stride(),
               tensor.storage_offset())  # fmt: skip
        if key not in self._tensor_ids:
            self._tensor_ids[key] = len(self.tensors)
            storage, dtype, shape, strides, offset = key
            self.tensors.append([storage, dtype, list(map(int, shape)), list(map(int, strides)), int(offset)])
        return self._tensor_ids[key]

    def is_hosted(self, tensor: torch.Tensor) -> bool:
        return self.storage(tensor) in self.hosted

    def value(self, value: Any) -> Any:
        """``value`` as JSON has it: a number, text or None as it is, all else as an object that says what it is."""
        if isinstance(value, torch.Tensor):
            return {"tensor": self.tensor(value)} if value.layout is torch.strided else {"unknown": "sparse tensor"}
        if isinstance(value, Doubtful):
            return {"unknown": "a value read from a tensor"}
        if value is None or isinstance(value, (bool, int, float, str)):
            return _plain(value)
        if isinstance(value, torch.dtype):
            return {"dtype": _dtype_name(value)}
        if isinstance(value, (list, tuple, torch.Size)):
            return {"list": [self.value(item) for item in list(value)[:_MOST_ITEMS]]}
        if isinstance(value, slice):
            return {"slice": [self.value(v) for v in (value.start, value.stop, value.step)]}
        kind = type(value)
        if kind.__name__ == "dtype" and hasattr(value, "primitive_bitwidth"):
            return {"dtype": str(value)}
        if kind.__name__ == "constexpr":
            return self.value(value.value)
        if kind.__name__ == "TensorWrapper" and isinstance(getattr(value, "base", None), torch.Tensor):
            return {"tensor": self.tensor(value.base), "as": str(value.dtype)}
        if kind.__name__ == "TensorDescriptor":
            parts = {n: self.value(list(getattr(value, n))) for n in ("shape", "strides", "block_shape")}
            return {"descriptor": self.value(value.base), **parts}
        function = getattr(value, "fn", None)
        code = getattr(function, "__code__", None)
        if code is not None:
            return {"function": self.function(function)}
        return {"unknown": kind.__name__}

    def function(self, function: Any) -> dict[str, Any]:
        code = function.__code__
        cells = zip(code.co_freevars, function.__closure__ or ())
        closure = {}
        for name, cell in cells:
            try:
                closure[name] = self.value(cell.cell_contents)
            except ValueError:
                continue
        return {
            "name": function.__name__,
            "file": self.file_of(code) or code.co_filename,
            "line": code.co_firstlineno,
            "closure": closure,
        }


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return {"unknown": type(value).__name__} if not isinstance(value.value, (int, float, str)) else value.value
    if isinstance(value, str):
        return str(value) if len(value) < _MOST_ITEMS else {"unknown": "text"}
    return next((kind(value) for kind in (bool, int, float) if isinstance(value, kind)), None)


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


# -- numbers that nobody knows -----------------------------------------------------------------------------------------


class Doubtful:
    """A number read from a tensor whose values are not known: it counts as 1, and the recorder decides conditions on it."""

    recorder: Recorder


class DoubtfulInt(Doubtful, int):
    pass


class DoubtfulFloat(Doubtful, float):
    pass


def doubtful(value: float, recorder: Recorder) -> Any:
    made = (DoubtfulInt if isinstance(value, int) else DoubtfulFloat)(value)
    made.recorder = recorder
    return made


def mentions_doubt(index: Any) -> bool:
    """Whether a slice of an index has a bound that nobody knows."""
    if isinstance(index, tuple):
        return any(map(mentions_doubt, index))
    return isinstance(index, slice) and any(isinstance(bound, Doubtful) for bound in (index.start, index.stop))


def _arithmetic(kind: type, name: str) -> Callable[..., Any]:
    plain = getattr(kind, name)

    def method(self: Any, *others: Any) -> Any:
        result = plain(self, *others)
        return doubtful(result, self.recorder) if isinstance(result, (int, float)) else result

    return method


def _decision(self: Any, *others: Any) -> bool:
    return bool(self.recorder.decide())


def _install() -> None:
    binary = "add sub mul floordiv mod truediv pow".split()
    for mine, kind in ((DoubtfulInt, int), (DoubtfulFloat, float)):
        for name in [*binary, *("r" + one for one in binary), "neg", "abs"]:
            setattr(mine, f"__{name}__", _arithmetic(kind, f"__{name}__"))
        for name in ("lt", "le", "gt", "ge", "eq", "ne", "bool"):
            setattr(mine, f"__{name}__", _decision)
        mine.__hash__ = kind.__hash__  # type: ignore[method-assign]


_install()
