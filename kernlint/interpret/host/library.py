"""Functions of libraries that are not in view: what Triton, torch and the standard library give to host code."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host import command_lines, registered, releases
from kernlint.interpret.host.arrays import call_numpy
from kernlint.interpret.host.autograd import gradients
from kernlint.interpret.host.builtins import builtin, math_function
from kernlint.interpret.host.device import OF_THE_GPU, current_target, device_properties
from kernlint.interpret.host.releases import demand
from kernlint.interpret.host.tuners import decorator
from kernlint.interpret.host.values import HostDescriptor, ParameterSet
from kernlint.interpret.python.arguments import argument
from kernlint.interpret.python.environment import MAX_UNROLL
from kernlint.interpret.python.operators import bounded
from kernlint.interpret.torch import layers
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.functions import torch_function, unknown_function
from kernlint.interpret.torch.limits import limits
from kernlint.interpret.values import Builtin, Config, Function, Instance, Namespace, Unknown, is_concrete
from kernlint.workload import Dtype, Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


#: Stands for "not by this one" among functions that may know a call.
_ELSEWHERE = Unknown("elsewhere")


#: Names that NumPy has for something else than torch's types of them.
_OF_PYTHON = frozenset({"int", "float", "char"})

#: torch's interfaces to devices that this analysis knows nothing of.
_OTHER_DEVICES = ("torch.npu.", "torch.xpu.", "torch.mps.", "torch.mlu.", "torch.musa.", "torch.hpu.")


_CONSTANTS: dict[str, Any] = {
    "math.pi": math.pi,
    "math.e": math.e,
    "math.inf": math.inf,
    **{
        f"{library}.{name}": value
        for library in ("torch", "numpy")
        for name, value in (("pi", math.pi), ("inf", math.inf))
    },
    "numpy.newaxis": None,
    "torch.strided": "strided",
    **{f"torch.{name}": name for name in ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")},
}


def external_attribute(h: HostEvaluator, value: Namespace, name: str) -> Any:
    path = f"{value.path}.{name}"
    if value.path == "torch" or value.path.endswith("triton.language"):
        found = dt.find(name)
        if found is not None and name not in ("int", "float", "long", "half", "double", "short", "bool"):
            return found
        if found is not None and value.path == "torch":
            return found
    if value.path == "numpy" and (name == "bool_" or dt.find(name) is not None) and name not in _OF_PYTHON:
        return dt.BOOL if name == "bool_" else dt.find(name)
    if path in _CONSTANTS:
        return _CONSTANTS[path]
    if path == "triton.__version__":
        return f"{h.release.release}.0"
    demand(h, path)
    if path.startswith(("torch.backends", "torch.version")):
        return Unknown(path)
    return Namespace(path)


def call_external(h: HostEvaluator, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    head, _, name = path.rpartition(".")
    if head == "builtins":
        return builtin(h, name, args, kwargs, node)
    if head == "math":
        return math_function(h, name, args, node)
    if releases.parses_versions(path):
        return releases.parse(args[0]) if args and isinstance(args[0], str) else Unknown("version")
    found = _triton_tool(h, path, args, kwargs, node)
    if found is _ELSEWHERE:
        found = _library_tool(h, path, args, kwargs)
    if found is not _ELSEWHERE:
        return found
    if path.startswith("torch"):
        return _call_torch(h, path, args, kwargs, node)
    if head.startswith("numpy"):
        return call_numpy(h, path.removeprefix("numpy."), args, kwargs, node)
    tensors = tensors_in([*args, *kwargs.values()])
    if tensors:
        h.escape(tensors)
        h.unknown(f"call of {path}")
    return Unknown(path)


def _triton_tool(h: HostEvaluator, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    """What Triton gives to hosts, and others under the same names; ``_ELSEWHERE`` for anything else."""
    head, _, name = path.rpartition(".")
    ours = head.startswith("triton")
    if name == "cdiv":
        if tensors_in(args):
            if not ours or len(args) != 2:
                return _ELSEWHERE  # in how many steps others do it, nobody knows
            less = h.binary("-", operator.sub, h.binary("+", operator.add, args[0], args[1], node), 1, node)
            return h.binary("//", operator.floordiv, less, args[1], node)
        if len(args) == 2 and all(isinstance(a, (int, Expr)) for a in args):
            return bounded(ex.ceildiv(*args)) if args[1] != 0 else Unknown("division by zero")
        h.used_as_integers(args)
        return Unknown("cdiv")
    if name == "next_power_of_2":
        value = args[0] if args else None
        if isinstance(value, int):
            return 1 << max(0, value - 1).bit_length()
        h.used_as_integers(args)
        return ex.opaque("pow2", value) if isinstance(value, Expr) else Unknown(name)
    if ours and name == "Config":
        meta = args[0] if args else kwargs.get("kwargs", {})
        return Config(
            meta if isinstance(meta, dict) else {},
            kwargs.get("num_warps", args[1] if len(args) > 1 else 4),
            kwargs.get("num_stages", args[2] if len(args) > 2 else 3),
            kwargs.get("pre_hook"),
        )
    if ours and name in ("jit", "autotune", "heuristics"):
        return decorator(h, name, args, kwargs, node)
    if path.startswith("triton.language") and name == "constexpr":
        return args[0] if args else None
    if "TensorDescriptor" in path and name in ("TensorDescriptor", "from_tensor"):
        return _descriptor(h, name, args, kwargs)
    return _ELSEWHERE


def _library_tool(h: HostEvaluator, path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What the standard library and the driver tell a program; ``_ELSEWHERE`` for anything else."""
    name = path.rpartition(".")[2]
    if path in ("os.environ.get", "os.getenv"):
        return args[1] if len(args) > 1 else kwargs.get("default")
    if name == "get_device_properties":
        return Instance(None, "device properties", device_properties(h))
    if name == "get_device_capability":
        return h.facts.capability
    if name == "get_current_target":
        return Instance(None, "target", current_target(h))
    if path.startswith(("functools.lru_cache", "functools.cache", "functools.wraps", "contextlib.")):
        return args[0] if len(args) == 1 and isinstance(args[0], Function) else Unknown(path)
    if path == "functools.partial" and args:
        function, given, named = args[0], args[1:], dict(kwargs)
        return Builtin("partial", lambda a, k, n: h.call(function, [*given, *a], {**named, **k}, n))  # type: ignore[arg-type]
    if path in ("copy.deepcopy", "copy.copy"):
        return args[0] if args else None
    if path == "pytest.param":
        return ParameterSet(args)
    if path == "argparse.ArgumentParser":
        return command_lines.parser()
    if path == "itertools.product":
        return _product([h.iterate(a) for a in args])
    return _ELSEWHERE


def _call_torch(h: HostEvaluator, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    name = path.rpartition(".")[2]
    if path.startswith("torch.nn.init"):
        h.overwritten(tensors_in(args))
        return args[0] if args else None
    if path.startswith("torch.nn.") and not path.startswith("torch.nn.functional"):
        return layers.construct(h, path, args, kwargs, node)
    if path == "torch.Size":
        return tuple(args[0]) if args and isinstance(args[0], (tuple, list)) else Unknown("size")
    if path in ("torch.finfo", "torch.iinfo"):
        known = limits(args[0]) if args and isinstance(args[0], Dtype) else {}
        return Instance(None, path, known) if known else Unknown(path)
    if path == "torch.library.Library":
        return registered.library(h, args)
    if path in ("torch.library.custom_op", "torch.library.triton_op", "torch.library.impl"):
        return registered.register(h, path, args, kwargs)
    function = registered.operator(h, path)
    if function is not None:
        return h.invoke(function, args, kwargs)
    if path.startswith(registered.PREFIX):
        namespace, _, name = path.removeprefix(registered.PREFIX).partition(".")
        name = name.partition(".")[0]  # without the overload
        if namespace != "aten":
            return unknown_function(h, name, args, kwargs, node)
    tool = path.startswith(("torch.cuda.", "torch.autograd", "torch.compile", "torch.jit", "torch.library"))
    if tool and name != "synchronize":
        return gradients(h, args, kwargs) if path == "torch.autograd.grad" else _torch_tool(path, args)
    if not tool and name == "synchronize" and path.startswith(_OTHER_DEVICES):
        return None  # such code never runs on the device in question
    return torch_function(h, name, args, kwargs, node)


def _torch_tool(path: str, args: list[Any]) -> Any:
    if path in OF_THE_GPU:
        return OF_THE_GPU[path]
    if path in ("torch.compile", "torch.jit.script") and args and isinstance(args[0], (Function, Instance)):
        return args[0]
    return Unknown(path)


def _descriptor(h: HostEvaluator, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    made = name == "from_tensor"
    base = argument(args, kwargs, 0, "tensor" if made else "base")
    if not isinstance(base, Tensor):
        return Unknown("descriptor")
    block = argument(args, kwargs, 1 if made else 3, "block_shape")
    if not isinstance(block, (tuple, list)) or not is_concrete(block):
        return Unknown("descriptor")
    base = h.rank(base, len(block))
    shape = h.shape(base) if made else argument(args, kwargs, 1, "shape")
    strides = h.strides(base) if made else argument(args, kwargs, 2, "strides")
    shape, strides = (tuple(h.iterate(value) or ()) if value is not None else () for value in (shape, strides))
    return HostDescriptor(base, shape, strides, tuple(block))


def _product(lists: list[list[Any] | None]) -> Any:
    result: list[tuple[Any, ...]] = [()]
    for items in lists:
        if items is None or len(result) * len(items) > MAX_UNROLL:
            return Unknown("product")
        result = [(*head, item) for head in result for item in items]
    return result
