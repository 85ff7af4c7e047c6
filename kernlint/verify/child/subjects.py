"""Builds what is compared: the reference, the two versions, and the arguments that all of them get."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from kernlint.records import dataclass
from kernlint.verify.child.loading import load
from kernlint.verify.child.modes import mapped

SEED = 20_260_101


class NoInputs(Exception):
    """Nothing says what the code is to be called with."""


@dataclass
class Subject:
    """Something to call: ``call(*args)``; ``state`` is the ``nn.Module`` behind it, if any."""

    call: Callable[..., Any]
    state: torch.nn.Module | None = None


@dataclass
class Setting:
    """The modules of one case: ``reference`` (None where there is none) and the ``versions`` by name; ``device`` is where to
    run."""

    reference: ModuleType | None
    versions: dict[str, ModuleType]
    job: Mapping[str, Any]
    device: str


def load_setting(
    job: Mapping[str, Any], overrides: Mapping[str, Any], device: str, begin: Callable[[str], None]
) -> Setting:
    """Execute the modules of ``job`` with ``overrides``; ``begin`` is told which one comes next."""
    files, package = job["files"], job.get("package", "")
    reference = None
    if "reference" in files:
        begin("reference")
        reference = load(files["reference"], "kernlint_reference", overrides, package)
    versions = {}
    for version, path in files.items():
        if version != "reference":
            begin(version)
            versions[version] = load(path, f"kernlint_{version}", overrides, package)
    return Setting(reference, versions, job, device)


def seed() -> None:
    """The same random numbers from here on, each time."""
    random.seed(SEED)
    torch.manual_seed(SEED)


def arguments(setting: Setting, extents: Mapping[str, int] | None = None) -> list[Any]:
    """The arguments of a call, from ``get_inputs`` of the reference or of the kernel's file, else from the analysis, with the
    sizes there as ``extents`` has them."""
    seed()
    maker = _function(setting, "get_inputs")
    if maker is not None:
        made = maker()
        return list(made) if isinstance(made, (list, tuple)) else [made]
    entry = setting.job.get("entry") or ""
    function = getattr(next(iter(setting.versions.values())), entry, None)
    if not callable(function):
        raise NoInputs("no get_inputs() says what to call it with (give --reference, or --assume for its arguments)")
    return [
        _argument(name, parameter, setting.job, extents or {})
        for name, parameter in inspect.signature(function).parameters.items()
    ]


def _argument(name: str, parameter: inspect.Parameter, job: Mapping[str, Any], extents: Mapping[str, int]) -> Any:
    if name in job.get("values", {}):
        return extents.get(str(job["values"][name]), job["values"][name])
    spec = job.get("tensors", {}).get(name)
    if spec is not None:
        return _tensor(_resized(spec, extents))
    if parameter.default is not inspect.Parameter.empty:
        return parameter.default
    raise NoInputs(f"nothing says what to pass as {name} (give --reference, or --assume {name}:dtype[dims])")


def _resized(spec: Mapping[str, Any], extents: Mapping[str, int]) -> Mapping[str, Any]:
    """``spec`` with other extents, its dimensions in memory in the order that they had, without gaps."""
    shape = [extents.get(str(extent), extent) for extent in spec["shape"]]
    if shape == spec["shape"] or not spec.get("strides"):
        return {**spec, "shape": shape}
    strides, step = [0] * len(shape), 1
    for dim in sorted(range(len(shape)), key=lambda d: (spec["strides"][d], -d)):
        strides[dim] = step if spec["strides"][dim] else 0
        step *= shape[dim] if spec["strides"][dim] else 1
    return {**spec, "shape": shape, "strides": strides}


def _tensor(spec: Mapping[str, Any]) -> torch.Tensor:
    """A tensor of random numbers with the dtype, shape and strides of ``spec``."""
    dtype, shape = getattr(torch, spec["dtype"]), spec["shape"]
    if dtype.is_floating_point:
        values = torch.randn(shape).to(dtype)
    elif dtype in (torch.int8, torch.uint8):
        values = torch.randint(0 if dtype is torch.uint8 else -128, 128, shape).to(dtype)
    else:
        values = torch.randint(0, 2, shape).to(dtype)  # as flags or as indices: in range for anything
    if spec.get("strides"):
        strided = torch.empty_strided(shape, spec["strides"], dtype=dtype)
        return strided.copy_(values)
    return values


def build_reference(setting: Setting) -> Subject | None:
    """``Model(*get_init_inputs())``; None where there is no reference."""
    module = setting.reference
    model = getattr(module, "Model", None)
    if model is None:
        return None
    return _built(model, setting, "forward")


def build_version(setting: Setting, version: str, like: Subject | None) -> Subject:
    """The version's entry, with the parameters of ``like`` where they fit. Raises :class:`NoInputs` where there is none."""
    module = setting.versions[version]
    owner, _, method = (setting.job.get("entry") or "ModelNew.forward").rpartition(".")
    if not owner:
        function = getattr(module, method, None)
        if not callable(function):
            raise NoInputs(f"{method} is no function of the module")
        return Subject(function)
    kind = getattr(module, owner, None)
    if kind is None:
        raise NoInputs(f"the module has no {owner}")
    subject = _built(kind, setting, method)
    if like is not None and like.state is not None and subject.state is not None:
        _copy_state(like.state, subject.state)
    return subject


def _copy_state(source: torch.nn.Module, target: torch.nn.Module) -> None:
    """The parameters of ``source`` in ``target``, where both have the same; else the seed has made equal ones, or not."""
    theirs, ours = source.state_dict(), target.state_dict()
    same = {n: v for n, v in theirs.items() if n in ours and ours[n].shape == v.shape and ours[n].dtype == v.dtype}
    if same:
        target.load_state_dict(same, strict=False)


def _built(kind: Any, setting: Setting, method: str) -> Subject:
    maker = _function(setting, "get_init_inputs")
    seed()
    given = maker() if maker is not None else []
    positional, named = given if isinstance(given, (list, tuple)) else [given], {}
    if len(positional) == 2 and isinstance(positional[0], (list, tuple)) and isinstance(positional[1], dict):
        positional, named = positional
    seed()
    made = kind(*positional, **named)
    state = made if isinstance(made, torch.nn.Module) else None
    if state is not None:
        state.to(setting.device)
        state.requires_grad_(False)
    return Subject(getattr(made, method), state)


def _function(setting: Setting, name: str) -> Callable[..., Any] | None:
    for module in (setting.reference, *setting.versions.values()):
        found = getattr(module, name, None)
        if callable(found):
            return found
    return None


def placed(args: list[Any], device: str) -> list[Any]:
    """Copies of ``args`` on ``device``, with the same strides."""

    def place(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
        if _overlaps(value):
            return value.to(device).clone()
        return copy.copy_(value.detach())

    return [mapped(value, place) for value in args]


def apart(args: list[Any], what: str) -> list[Any]:
    """``args`` with a gap behind the rows, or behind ``what`` else, of each tensor."""

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or _overlaps(value):
            return value
        last = value.dim() - 1
        strides = [step if axis == last and what == "rows" else 2 * step for axis, step in enumerate(value.stride())]
        return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device).copy_(value.detach())

    return [mapped(value, move) for value in args] if what else args


def _overlaps(value: torch.Tensor) -> bool:
    return any(stride == 0 and extent > 1 for stride, extent in zip(value.stride(), value.shape))


def widened(args: list[Any]) -> list[Any]:
    """``args`` with every floating-point tensor as float64, all else copied."""

    def widen(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.double() if value.dtype.is_floating_point else value.clone()

    return [mapped(value, widen) for value in args]
