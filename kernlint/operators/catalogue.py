"""All operators, found in the modules of this package."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from kernlint.headroom.causes import Cause
from kernlint.operators.operator import UNNAMED, Operator, WhyNot
from kernlint.rewrite.edits import Attempt
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rules.finding import Context


@cache
def all_operators() -> tuple[Operator[Any, Any], ...]:
    """Each once, by name, with the one that writes everything anew last: where a smaller change does, nobody wants that."""
    package = __name__.rpartition(".")[0]
    modules = [
        import_module(f"{package}.{info.name}") for info in pkgutil.iter_modules(import_module(package).__path__)
    ]
    found = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, Operator)}
    return tuple(sorted(found.values(), key=lambda one: (one.name == "generate", one.name)))


def local_ways(context: Context, cause: Cause) -> Iterator[Attempt]:
    """What the operators that remove ``cause`` make of the kernel that has it, or of all, where it stands."""
    for operator in all_operators():
        if cause.name not in operator.causes or operator.name == "generate":
            continue
        places = [place for place in operator.sites(context) if place.kernel and cause.kernel in ("", place.kernel)]
        proofs = [operator.check(context, place) for place in places]
        proven = [proof for proof in proofs if not isinstance(proof, WhyNot)]
        made = operator.emit(context, proven) if proven else None
        if made is not None and made.rewriting is not None and not context.device_named:
            made = Attempt(made.rewriting | Rewriting((), Effects("unsafe", notes=(UNNAMED,))))
        if made is not None:
            yield made
