"""Which function of a module all of some work is asked for in, and which entries others call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk


def innermost_caller(module: Module, functions: set[str], otherwise: str) -> str:
    """The function of ``module`` that does all that ``functions`` do, itself or by those it calls, and least beside it; ``otherwise``
    where none of those in view does. Methods are called by their last name, whatever the object."""
    called = dict(_functions(module))
    reached = {name: _reached(name, called) for name in called}
    holding = [name for name in called if functions <= reached[name]]
    return min(holding, key=lambda name: len(reached[name]), default=otherwise)


def behind_methods(module: Module, entries: Iterable[str]) -> set[str]:
    """The functions of ``module`` among ``entries`` that methods among them call, themselves or by others: what an autograd function
    or a layer gives its helpers is what these are called with, and nothing tells that of the helpers alone."""
    called = dict(_functions(module))
    names = set(entries)
    reached = [_reached(name, called) for name in names if "." in name and name in called]
    return {name for name in names if "." not in name and any(name in found for found in reached)}


def _functions(module: Module) -> Iterator[tuple[str, set[str]]]:
    """The functions at the top level and the methods of classes there, each with the last names of what it calls."""
    for statement in module.tree.body:
        if isinstance(statement, cst.FunctionDef):
            yield statement.name.value, _calls(statement)
        elif isinstance(statement, cst.ClassDef):
            for inner in statement.body.body:
                if isinstance(inner, cst.FunctionDef):
                    yield f"{statement.name.value}.{inner.name.value}", _calls(inner)


def _calls(function: cst.FunctionDef) -> set[str]:
    found = set()
    for node in walk(function):
        if type(node) is cst.Call and type(node.func) is cst.Name:
            found.add(node.func.value)
        elif type(node) is cst.Call and type(node.func) is cst.Attribute:
            found.add(node.func.attr.value)
    return found


def _reached(name: str, called: Mapping[str, set[str]]) -> set[str]:
    """``name`` and the functions that it calls, those that they call, and so on."""
    found, waiting = {name}, [name]
    while waiting:
        for callee in called[waiting.pop()]:
            for other in called:
                if other not in found and other.rsplit(".", 1)[-1] == callee:
                    found.add(other)
                    waiting.append(other)
    return found
