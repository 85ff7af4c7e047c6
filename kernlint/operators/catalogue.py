"""All operators, found in the modules of this package."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from kernlint.operators.operator import Operator


@cache
def all_operators() -> tuple[Operator[Any, Any], ...]:
    """Each once, by name, with the one that writes everything anew last: where a smaller change does, nobody wants that."""
    package = __name__.rpartition(".")[0]
    modules = [
        import_module(f"{package}.{info.name}") for info in pkgutil.iter_modules(import_module(package).__path__)
    ]
    found = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, Operator)}
    return tuple(sorted(found.values(), key=lambda one: (one.name == "generate", one.name)))
