"""Which function of a module all of some work is asked for in, and which entries others call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from kernlint.syntax.tree import Module


def innermost_caller(module: Module, functions: set[str], otherwise: str) -> str:
    """The function of ``module`` that does all that ``functions`` do, itself or by those it calls, and least beside it; ``otherwise``
    where none of those in view does. Methods are called by their last name, whatever the object."""
    called = module.once(_called)
    reached = {name: _reached(name, called) for name in called}
    holding = [name for name in called if functions <= reached[name]]
    return min(holding, key=lambda name: len(reached[name]), default=otherwise)


def behind_methods(module: Module, entries: Iterable[str]) -> set[str]:
    """The functions of ``module`` among ``entries`` that methods among them call, themselves or by others: what an autograd function
    or a layer gives its helpers is what these are called with, and nothing tells that of the helpers alone."""
    called = module.once(_called)
    names = set(entries)
    reached = [_reached(name, called) for name in names if "." in name and name in called]
    return {name for name in names if "." not in name and any(name in found for found in reached)}


def _called(module: Module) -> dict[str, set[str]]:
    """The functions at the top level and the methods of classes there, each with those of them that it calls, by last names."""
    functions = dict(_functions(module))
    by_last_name: dict[str, list[str]] = {}
    for name in functions:
        by_last_name.setdefault(name.rpartition(".")[2], []).append(name)
    return {
        name: {other for last in _calls(module, function) for other in by_last_name.get(last, ())}
        for name, function in functions.items()
    }


def _functions(module: Module) -> Iterator[tuple[str, cst.FunctionDef]]:
    for statement in module.tree.body:
        if isinstance(statement, cst.FunctionDef):
            yield statement.name.value, statement
        elif isinstance(statement, cst.ClassDef):
            for inner in statement.body.body:
                if isinstance(inner, cst.FunctionDef):
                    yield f"{statement.name.value}.{inner.name.value}", inner


def _calls(module: Module, function: cst.FunctionDef) -> Iterator[str]:
    """The last names of what ``function`` calls."""
    for call in module.within(function, cst.Call):
        if type(call.func) is cst.Name:
            yield call.func.value
        elif type(call.func) is cst.Attribute:
            yield call.func.attr.value


def _reached(name: str, called: Mapping[str, set[str]]) -> set[str]:
    """``name`` and the functions that it calls, those that they call, and so on."""
    found, waiting = {name}, [name]
    while waiting:
        new = called[waiting.pop()] - found
        found |= new
        waiting += new
    return found
