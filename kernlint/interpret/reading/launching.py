"""Which functions of a module may launch kernels, by the names they use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from kernlint.interpret.host.registered import registered_names
from kernlint.syntax.tree import Module


def may_launch(module: Module) -> frozenset[str]:
    """Names of module-level functions and classes from which a kernel launch can be reached by the names they use: a
    cheap bound that spares reading the many functions of a large module that launch nothing."""
    return module.once(_may_launch)


def _may_launch(module: Module) -> frozenset[str]:
    definitions: list[tuple[str, cst.CSTNode]] = []
    decorated: set[str] = set()
    for statement in _statements(module.tree.body):
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            names = {statement.name.value, *registered_names(statement.decorators)}
            definitions += [(name, statement) for name in names]
            if statement.decorators:
                decorated.add(statement.name.value)
        elif isinstance(statement, cst.SimpleStatementLine):
            # `launch = partial(run, block=512)`: what uses `launch` uses `run`.
            definitions += [(name, statement) for part in statement.body for name in assigned(part)]
    uses: dict[str, set[str]] = {}
    found: set[str] = set()
    for name, definition in definitions:
        names = uses.setdefault(name, set())
        names.update(used.value for used in module.within(definition, cst.Name))
        calls, subscripts = module.within(definition, cst.Call), module.within(definition, cst.Subscript)
        if any(_is_launch(node, decorated) for node in (*calls, *subscripts)):
            found.add(name)
    while more := {name for name, used in uses.items() if name not in found and used & found}:
        found |= more
    return frozenset(found)


def assigned(part: cst.CSTNode) -> list[str]:
    """The names that a simple statement gives what a call makes, or an attribute (``norm = Norm.apply``)."""
    if not isinstance(part, cst.Assign) or not isinstance(part.value, (cst.Call, cst.Attribute)):
        return []
    return [target.target.value for target in part.targets if isinstance(target.target, cst.Name)]


def handed_out(module: Module) -> frozenset[str]:
    """Names of which an attribute has a public name of the module's: what ``norm = _Norm.apply`` calls is public, whatever its class is."""
    return module.once(_handed_out)


def _handed_out(module: Module) -> frozenset[str]:
    lines = [line for line in _statements(module.tree.body) if isinstance(line, cst.SimpleStatementLine)]
    parts = [part for line in lines for part in line.body if not all(map(_is_private, assigned(part)))]
    owners = [
        part.value.value for part in parts if isinstance(part, cst.Assign) and isinstance(part.value, cst.Attribute)
    ]
    return frozenset(one.value for one in owners if isinstance(one, cst.Name))


def _is_private(name: str) -> bool:
    return name.startswith("_")


def _is_launch(node: cst.CSTNode, decorated: set[str]) -> bool:
    """``kernel[grid](...)``, ``kernel.run(..., grid=grid)`` or ``kernel[grid]`` to be called later, by their looks."""
    if type(node) is cst.Call:
        function = node.func
        return type(function) is cst.Subscript or (
            type(function) is cst.Attribute and function.attr.value in ("run", "warmup") and _has_grid(node)
        )
    return isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value in decorated


def _has_grid(call: cst.Call) -> bool:
    """Whether ``call`` gives a grid by its name, as a kernel's methods want it, or may; other things have a ``run`` of their own."""
    return any(arg.star == "**" or (arg.keyword is not None and arg.keyword.value == "grid") for arg in call.args)


def _statements(body: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """Module-level statements, those under ``if`` and ``try`` included."""
    for statement in body:
        yield statement
        if isinstance(statement, (cst.If, cst.Try, cst.Else)):
            yield from _statements(statement.body.body)
        if isinstance(statement, (cst.If, cst.Try)) and statement.orelse is not None:
            yield from _statements([statement.orelse])
