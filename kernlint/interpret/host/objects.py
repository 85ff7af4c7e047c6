"""Instances and classes of the program: their attributes, their making, their calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.autograd import applied
from kernlint.interpret.host.values import Parent
from kernlint.interpret.jit_source import binding_problem
from kernlint.interpret.torch import layers
from kernlint.interpret.values import Builtin, Class, Function, Instance, Jit, Namespace, Scope, Unknown
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


def parent_of(h: HostEvaluator, node: cst.Call, scope: Scope) -> Parent:
    """What ``super()`` stands for in a method; of no class in view where it was not called on an object that is."""
    method = h.calls[-1] if h.calls else None
    given = [h.eval(argument.value, scope) for argument in node.args if argument.keyword is None and not argument.star]
    if not given and method is not None and method.node.params.params:
        given = [method.closure.get(method.owner), scope.get(method.node.params.params[0].name.value)]
    cls, instance = given if len(given) == 2 else (None, None)
    if not isinstance(instance, Instance) or instance.cls is None:
        return Parent((), Instance(None))
    behind = [*lineage(instance.cls)]
    place = next((number for number, one in enumerate(behind) if one is cls), len(behind))
    return Parent(tuple(behind[place + 1 :]), instance)


def parent_attribute(h: HostEvaluator, value: Parent, name: str) -> Any:
    """``super().name``: of the next class in view that has it, or of the layer of the library that these derive from."""
    instance = value.instance
    for candidate in value.classes:
        if name in candidate.scope.vars:
            found = candidate.scope.lookup(name)
            return _bound(h, found, instance) if isinstance(found, Function) else found
    layer = layer_of(instance.cls) if instance.cls is not None else ""
    if layer and name == "forward":
        return Builtin(name, lambda a, k, n: layers.call(h, Instance(None, layer, instance.attrs), a, k, n))
    if name == "__init__":
        return Builtin(name, lambda a, k, n: _set_up(h, instance, layer, a, k, n) if layer else None)
    return Unknown(name)


def layer_of(cls: Class) -> str:
    """The layer of the library that ``cls`` derives from, if there is one."""
    bases = (base.path for one in lineage(cls) for base in one.bases if isinstance(base, Namespace))
    return next((path for path in bases if layers.is_made_by_name(path)), "")


def _set_up(
    h: HostEvaluator, instance: Instance, layer: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode
) -> None:
    """Give ``instance`` what the constructor of ``layer`` does."""
    made = layers.construct(h, layer, args, kwargs, node)
    if isinstance(made, Instance):
        instance.attrs.update(made.attrs)


def construct(h: HostEvaluator, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """An instance of ``cls`` with its ``__init__`` run; parameters it creates are not part of a call."""
    instance = Instance(cls)
    init = class_attribute(h, cls, "__init__", None)
    if isinstance(init, Function):
        with h.making():
            h.invoke(init, [instance, *args], kwargs)
    elif layer := layer_of(cls):
        with h.making():
            _set_up(h, instance, layer, args, kwargs, cls.node)
    else:
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
        instance = Instance(None, layer_of(instance.cls), instance.attrs)
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
