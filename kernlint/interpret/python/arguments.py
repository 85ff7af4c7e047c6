"""How functions that the interpreters know take their arguments: by place or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from kernlint.interpret.values import Unknown

Args = list[Any]

Kwargs = dict[str, Any]

#: What such a function does with its arguments: the value of the call, or its type.
Handler = Callable[..., Any]


def argument(args: Args, kwargs: Kwargs, position: int, *names: str, default: Any = None) -> Any:
    """The argument called one of ``names``, or the one at ``position``."""
    for name in names:
        if name in kwargs:
            return kwargs[name]
    return args[position] if len(args) > position else default


def takes(*parameters: str, operands: int = 0, options: bool = False, **defaults: Any) -> Callable[[Handler], Handler]:
    """Binds the arguments of a function, by place or by name (``other|mat2`` has two), to ``parameters``: its handler gets the
    interpreter, the call and these; with ``options`` those by name as well. The first ``operands`` are what the interpreter
    computes on: tensors, tiles. Where one of them is none, nothing is known."""
    names = [parameter.split("|") for parameter in parameters]

    def bind(function: Handler) -> Handler:
        def handler(interpreter: Any, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
            given = [argument(args, kwargs, at, *one, default=defaults.get(one[0])) for at, one in enumerate(names)]
            for at in range(operands):
                given[at] = interpreter.operand(given[at])
                if given[at] is None:
                    return Unknown(f"{names[at][0]} of {function.__name__}")
            return function(interpreter, node, *given, **({"options": kwargs} if options else {}))

        return handler

    return bind
