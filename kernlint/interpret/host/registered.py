"""Functions that a program registers as operators of torch (``torch.library``), and calls as ``torch.ops.namespace.name``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.values import Builtin, Function, Instance
from kernlint.syntax.names import dotted_name

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator

#: Decorators that make a function an operator, by their last names: the first two give it a name, the third an implementation.
_MAKING = ("custom_op", "triton_op", "impl")
#: Implementations that no call on the device in question gets to.
_ELSEWHERE = frozenset({"Meta", "CPU", "cpu", "Autograd", "AutogradCUDA", "FakeTensor", "XPU", "HIP", "NPU"})
#: Of the path of an operator.
PREFIX = "torch.ops."


def register(h: HostEvaluator, path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What ``torch.library.custom_op(name, ...)`` and its like give, given a function or as decorators."""
    given = [*args, *kwargs.values()]
    function = next((one for one in given if isinstance(one, Function)), None)
    library = next((one for one in given if isinstance(one, Instance) and one.kind == "torch.library.Library"), None)
    texts = [one for one in given if isinstance(one, str)]
    if not texts or not _ELSEWHERE.isdisjoint(texts):
        return Builtin("not on the device", lambda a, k, n: a[0] if a else None)
    name = texts[0] if library is None else f"{library.attrs['namespace']}::{texts[0]}"

    def made(a: list[Any], k: dict[str, Any], n: cst.CSTNode) -> Any:
        if a and isinstance(a[0], Function):
            (h.operators if h.put_off is None else h.operators_elsewhere)[name.replace("::", ".")] = a[0]
        return a[0] if a else None

    return made([function], {}, cst.Name("f")) if function is not None else Builtin(path, made)


def library(h: HostEvaluator, args: list[Any]) -> Instance:
    """``torch.library.Library(namespace, kind)``."""
    made = Instance(None, "torch.library.Library", {"namespace": args[0] if args else ""})
    made.attrs["define"] = Builtin("define", lambda a, k, n: None)
    made.attrs["impl"] = Builtin("impl", lambda a, k, n: register(h, "impl", [made, *a], k))
    return made


def operator(h: HostEvaluator, path: str) -> Function | None:
    """The function behind ``torch.ops.namespace.name`` (or an overload of it), where one in view is registered under that name."""
    if not path.startswith(PREFIX):
        return None
    name = ".".join(path.removeprefix(PREFIX).split(".")[:2])
    if name not in h.operators and name not in h.operators_elsewhere and h.find_operator is not None:
        h.find_operator(name.rpartition(".")[2])
        h.operators_elsewhere.setdefault(name, None)
    return h.operators.get(name) or h.operators_elsewhere.get(name)


def registered_names(decorators: Any) -> list[str]:
    """The names of operators, without their namespaces, that ``decorators`` register a function as."""
    found = []
    for call in (decorator.decorator for decorator in decorators):
        if not isinstance(call, cst.Call) or (dotted_name(call.func) or "").rpartition(".")[2] not in _MAKING:
            continue
        for node in (argument.value for argument in call.args[:2]):
            parts = node.parts if isinstance(node, cst.FormattedString) else [node]
            text = (
                parts[-1].value if parts and isinstance(parts[-1], (cst.SimpleString, cst.FormattedStringText)) else ""
            )
            name = re.search(r"(\w+)['\"]?$", text)
            found += [name[1]] if name else []
    return found
