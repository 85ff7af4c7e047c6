"""How functions that the interpreters know take their arguments: by place or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
