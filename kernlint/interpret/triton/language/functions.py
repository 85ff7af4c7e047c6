"""What each function of ``triton.language`` does to abstract tiles.

One table, by the function's last name: ``tl.exp``, ``tl.math.exp``, ``libdevice.exp`` and ``x.exp()`` are the same
operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs
from kernlint.interpret.triton.language import dots, elementwise, memory, programs, reductions, shaping
from kernlint.interpret.triton.language.elementwise import UNARY, unary
from kernlint.interpret.triton.language.memory import atomic
from kernlint.interpret.triton.language.reductions import REDUCTIONS, reduce
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Unknown
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


#: The first parameters of functions that are given any number of arguments; what follows them is read by name too.
_LEADING: dict[str, tuple[str, ...]] = {
    "broadcast_to": ("input", "shape"),
    "broadcast": ("input", "other"),
    **dict.fromkeys(("maximum", "minimum"), ("x", "y")),
    **dict.fromkeys("full_like permute reshape trans view".split(), ("input",)),
}


_BINARY_METHODS = {"__add__": "+", "__mul__": "*", "__sub__": "-"}


TABLE: dict[str, Handler] = {
    name: handler
    for part in (programs, shaping, memory, dots, elementwise, reductions)
    for name, handler in part.TABLE.items()
}


def constant(path: str) -> Any:
    """The value of a ``triton.language`` name that is not a function (an element type), or None."""
    head, _, name = path.rpartition(".")
    if head.endswith(("language", "language.core")):
        return dt.find(name) if name not in ("float", "int", "long", "short", "double", "half") else None
    return None


def call_function(
    k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, method: bool = False
) -> Any:
    """The result of ``tl.name(*args, **kwargs)``; noted as not followed when the arguments do not fit."""
    mark, before = k.recorder.mark, k.next_id
    result = _answer(k, name, args, kwargs, node, method)
    made = k.next_id if k.next_id != before else 0
    return k.recorder.note(name, args, result, node, k.modules[-1], kwargs, mark, made)


def _answer(k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, method: bool) -> Any:
    try:
        return _call(k, name, args, kwargs, node, method)
    except (LookupError, AttributeError, TypeError, ValueError, AssertionError):
        k.give_up(f"arguments of {name}")
        return Unknown(name)


def _call(k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, method: bool) -> Any:
    args, kwargs = _by_position(name, args, kwargs)
    handler = TABLE.get(name)
    if handler is not None:
        return handler(k, args, kwargs, node)
    if name in UNARY:
        return unary(k, UNARY[name], args, node, name)
    if name in REDUCTIONS:
        return reduce(k, name, args, kwargs, node)
    if name.startswith("atomic_"):
        return atomic(k, name[7:], args, kwargs, node)
    if method and name in _BINARY_METHODS:
        return k.elementwise(_BINARY_METHODS[name], args[0], k.lift(args[1]) or args[0], node)
    k.give_up(f"{name} is not known")
    blocks = [a for a in args if isinstance(a, Block)]
    if not blocks:
        return Unknown(name)
    return blocks[0].computed(loads=frozenset().union(*(b.loads for b in blocks)))


def _by_position(name: str, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with those first ones by position that the call gives by keyword: ``maximum(x=a, y=b)``."""
    if not kwargs:
        return args, kwargs
    for parameter in _LEADING.get(name, ("x", "y") if name in UNARY else ())[len(args) :]:
        if parameter not in kwargs:
            break
        args = [*args, kwargs[parameter]]
        kwargs = {one: value for one, value in kwargs.items() if one != parameter}
    return args, kwargs
