"""Instances and classes of the program: their attributes, their making, their calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host import optimizers
from kernlint.interpret.host.autograd import applied
from kernlint.interpret.jit_source import binding_problem
from kernlint.interpret.torch import layers
from kernlint.interpret.values import Builtin, Class, Function, Instance, Jit, Namespace, Unknown
from kernlint.syntax.names import origin_of
from kernlint.workload import Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


def instance_attribute(h: HostEvaluator, value: Instance, name: str) -> Any:
    if name == "training" and name in value.attrs:
        return layers.in_training(h, value)
    if name in value.attrs:
        found = value.attrs[name]
        return h.current(found) if isinstance(found, Tensor) else found
    if value.cls is not None:
        if name == "param_groups" and optimizers.is_optimizer([*lineage(value.cls)]):
            return optimizers.param_groups(h, value)
        found = class_attribute(h, value.cls, name, value)
        if not isinstance(found, Unknown):
            return found
    if name == "__class__":
        return value.cls or Namespace(value.kind)
    if layers.changes(name):
        h.changes()
    if name == "training":
        return layers.in_training(h, value)
    return layers.attribute(h, value, name)


def class_attribute(h: HostEvaluator, cls: Class, name: str, instance: Instance | None) -> Any:
    for candidate in lineage(cls):
        if name in candidate.scope.vars:
            found = candidate.scope.lookup(name)
            if instance is not None and isinstance(found, Function):
                return _bound(h, found, instance)
            return found
    if name == "apply":
        # torch.autograd.Function: apply(*args) runs forward(ctx, *args).
        forward = class_attribute(h, cls, "forward", None)
        if isinstance(forward, Function):
            return Builtin("apply", lambda a, k, n: applied(h, cls, forward, a, k))
    return Unknown(f"attribute {name}")


def _bound(h: HostEvaluator, function: Function, instance: Instance) -> Any:
    kinds = function.decorators
    if "staticmethod" in kinds:
        return function
    if "property" in kinds or "cached_property" in kinds or "functools.cached_property" in kinds:
        return h.invoke(function, [instance], {})
    owner: Any = instance.cls if "classmethod" in kinds else instance
    return Builtin(function.name, lambda a, k, n: h.invoke(function, [owner, *a], k))


def super_attribute(value: Builtin, name: str) -> Any:
    return Builtin(name, value.call) if name == "__init__" else Unknown(name)


def construct(h: HostEvaluator, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """An instance of ``cls`` with its ``__init__`` run; parameters it creates are not part of a call."""
    instance = Instance(cls)
    init = class_attribute(h, cls, "__init__", None)
    trains = optimizers.is_optimizer([*lineage(cls)])
    if trains:
        optimizers.set_up(h, instance, init, args, kwargs)
    if isinstance(init, Function):
        with h.making():
            h.invoke(init, [instance, *args], kwargs)
    elif not trains:
        names = list(fields(cls))
        names = names or [n for n, v in cls.scope.vars.items() if not isinstance(v, (Function, Jit, Class))]
        instance.attrs.update(zip(names, args))
        instance.attrs.update(kwargs)
        if any(isinstance(base, Namespace) and base.path.endswith("NamedTuple") for base in cls.bases):
            instance.attrs["_items"] = [instance.attrs.get(n, cls.scope.vars.get(n, Unknown(n))) for n in names]
    return instance


def fields(cls: Class) -> dict[str, cst.AnnAssign]:
    """The fields of a dataclass or a named tuple, those of the classes that it derives from first; none of a class that makes its
    objects itself."""
    found: dict[str, cst.AnnAssign] = {}
    for one in reversed([*lineage(cls)]):
        if isinstance(one.scope.vars.get("__init__"), Function):
            return {}
        for node in one.module.own(one.node.body, cst.AnnAssign):
            if isinstance(node.target, cst.Name):
                found[node.target.value] = node
    return found


def call_instance(h: HostEvaluator, instance: Instance, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if instance.cls is not None:
        for name in ("forward", "__call__"):
            method = class_attribute(h, instance.cls, name, None)
            if isinstance(method, Function):
                return h.invoke(method, [instance, *args], kwargs)
    return layers.call(h, instance, args, kwargs, node)


def lineage(cls: Class) -> Iterator[Class]:
    """``cls`` and the classes in view that it derives from, nearest first, each once by however many ways."""
    seen: set[int] = set()
    waiting: list[Any] = [cls]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Class) and id(here) not in seen:
            seen.add(id(here))
            yield here
            waiting += reversed(here.bases)


def misfit(function: Function, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> str:
    """Why Python would not make a call of a function of a module; empty where it would, or may."""
    called, module = function.node, function.module
    if function.either or not isinstance(called, cst.FunctionDef) or called not in module.tree.body:
        return ""
    if not isinstance(node, cst.Call) or any(a.star for a in node.args):
        return ""  # a decorator, which is called with what it decorates
    origins = (origin_of(d.decorator, module.imports) or "" for d in called.decorators)
    passed_on = all(origin in ("torch.no_grad", "torch.inference_mode") for origin in origins)
    return binding_problem(called, args, kwargs) if passed_on else ""
