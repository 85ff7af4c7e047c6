"""The types of ``triton.language`` functions: what each takes, and the type of its result.

One table, by the function's last name: ``tl.exp``, ``tl.math.exp``, ``libdevice.exp`` and ``x.exp()`` are typed alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language import dots, elementwise, memory, reductions, shaping
from kernlint.interpret.frontend.language.elementwise import ELEMENTWISE, elementwise_type
from kernlint.interpret.frontend.language.memory import atomic
from kernlint.interpret.frontend.language.reductions import REDUCTIONS, reduce
from kernlint.interpret.python.arguments import Args, Handler, Kwargs
from kernlint.interpret.values import Unknown
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


TABLE: dict[str, Handler] = {
    name: handler for part in (shaping, memory, elementwise, dots, reductions) for name, handler in part.TABLE.items()
}


def constant(name: str) -> Dtype | None:
    """The element type that ``tl.name`` is, if it is one."""
    return dt.find(name) if name not in ("float", "int", "long", "short", "double", "half", "bool") else None


def type_of_call(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, path: str = "") -> Any:
    """The type of ``tl.name(*args, **kwargs)``; Unknown where it is not known."""
    handler = TABLE.get(name)
    try:
        if handler is not None:
            return handler(f, args, kwargs, node)
        if name in REDUCTIONS:
            return reduce(f, name, args, kwargs, node)
        if name in ELEMENTWISE:
            return elementwise_type(f, name, args, kwargs, node, path or f"triton.language.{name}")
        if name.startswith("atomic_"):
            return atomic(f, name, args, kwargs, node)
    except (LookupError, AttributeError, TypeError, ValueError):
        pass
    return Unknown(name)
