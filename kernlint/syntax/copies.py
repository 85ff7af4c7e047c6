"""Functions at the top of a module whose text is that of others but for names: what is found out about the first holds for all.

Generated programs have a kernel and a launcher for each layer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.tree import Module
from kernlint.workload import Span


@dataclass(frozen=True)
class TopFunction:
    """A function among the statements of a module, whose name is bound once: ``lines`` begin with its decorators."""

    node: cst.FunctionDef
    name: Span
    lines: Span
    text: str

    @cached_property
    def nameless(self) -> str | None:
        """The text without the name; None where that stands in it once more."""
        text = without(self.text, {self.node.name.value: ""}) if isinstance(self.node.body, cst.IndentedBlock) else None
        return text if text is not None and text.count("<>") == 1 else None


def top_functions(module: Module) -> dict[str, TopFunction]:
    """The functions among the statements of ``module`` whose names are bound once, by name."""
    found: dict[str, TopFunction | None] = {}
    for node in module.tree.body:
        if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            continue
        name = node.name.value
        if name in found or not isinstance(node, cst.FunctionDef):
            found[name] = None
            continue
        whole = module.span(node)
        lines = Span(whole.file, module.first_line_of(node), 1, whole.end_line, whole.end_column)
        found[name] = TopFunction(node, module.span(node.name), lines, "\n".join(module.excerpt(lines)))
    assigned = {target.target.value for target in module.of(cst.AssignTarget) if isinstance(target.target, cst.Name)}
    return {name: one for name, one in found.items() if one is not None and name not in assigned}


def form_of(module: Module, name: str) -> object | None:
    """What the function ``name`` at the top of ``module`` has in common with its copies, the functions that it names with it; None where
    it is not compared."""
    functions = module.once(top_functions)
    own = functions.get(name)
    if own is None:
        return None
    named = dict.fromkeys(node.value for node in module.within(own.node, cst.Name))
    others = {one: functions[one].nameless for one in named if one in functions and one != name}
    told = {one: text for one, text in others.items() if text is not None}
    text = without(own.text, {**{one: str(number) for number, one in enumerate(told)}, name: "own"})
    return None if text is None else (text, *told.values())


#: A word that may be a name that is looked up, and any word.
_NAME, _WORD = re.compile(r"(?<![\w.\"'])\w+(?![\w\"'=])"), re.compile(r"\w+")


def without(text: str, names: Mapping[str, str]) -> str | None:
    """``text`` with ``names`` replaced; None where one of them is an attribute, a text or told apart otherwise than as a name."""
    met: set[str] = set()

    def replaced(found: re.Match[str]) -> str:
        name = found.group()
        if name not in names:
            return name
        met.add(name)
        return f"<{names[name]}>"

    text = _NAME.sub(replaced, text)
    return text if met == names.keys() and names.keys().isdisjoint(_WORD.findall(text)) else None
