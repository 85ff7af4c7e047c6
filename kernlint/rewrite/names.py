"""Names for what a rewrite adds."""

from __future__ import annotations

import libcst as cst

from kernlint.syntax.tree import Module


def names_in_use(module: Module) -> set[str]:
    """Every word that ``module`` uses as a name, of a variable, an attribute or a keyword."""
    return {node.value for node in module.of(cst.Name)}


def fresh_name(wish: str, taken: set[str]) -> str:
    """``wish``, or with a number behind it where it is ``taken``; taken from now on."""
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    taken.add(name)
    return name
