"""Arguments that are sequences, such as lists of tensors or of pairs of them: what is in them, and what that is called.

``x[]`` is any item of ``x``, ``x[][1]`` the second part of each, ``x[2]`` the third item of one whose items are told apart; ``len(x)``
says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.values import OpenItems
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.workload import Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState

#: Functions of Python's that go through what they are given.
_GOING_THROUGH = frozenset({"zip", "enumerate", "reversed", "list", "tuple"})
#: Parts of one item that are told apart.
_MOST_PARTS = 16


def open_sequence(h: HostState, name: str) -> OpenItems:
    """An argument called ``name`` that is a list of nobody knows what."""
    return OpenItems(part(h, name, ""), length(h, name), name)


def length(h: HostState, name: str) -> Any:
    """How many items the argument ``name`` has."""
    return h.open_number(f"len({name})")


def part(h: HostState, owner: str, key: int | str, value: Any = None) -> Any:
    """``owner[key]``, always the same: ``value``, or a tensor of which nothing is known, with what is said of it."""
    name = f"{owner}[{key}]"
    if name not in h.parts:
        h.parts[name] = h.as_said(name, h.unknown_tensor(name) if value is None else value)
    return h.parts[name]


def parts(h: HostState, value: Any, count: int) -> list[Any] | None:
    """What ``value`` is unpacked into ``count`` names as, where it is a sequence or an item that nothing else is known of."""
    named = bool(value.name) if isinstance(value, OpenItems) else is_item(h, value)
    return [part(h, value.name, place) for place in range(count)] if named and count <= _MOST_PARTS else None


def is_item(h: HostState, value: Any) -> bool:
    """Whether ``value`` stands for an item of a sequence that may be anything."""
    return isinstance(value, Tensor) and value.name.endswith("[]") and h.perhaps_number(value)


def holds_items(function: cst.FunctionDef, module: Module, name: str) -> bool:
    """Whether ``function`` goes through its argument ``name`` as through a list, and asks nothing of it that one asks of a tensor."""
    return name in module.once(_gone_through).get(function, frozenset())


def _gone_through(module: Module) -> dict[cst.CSTNode, frozenset[str]]:
    """By function, the names that it goes through and asks nothing else of."""
    found: dict[cst.CSTNode, frozenset[str]] = {}
    for function in module.of(cst.FunctionDef):
        names = frozenset(_iterated(module, function))
        if names:
            found[function] = names - frozenset(_used_as_tensors(module, function))
    return found


def _iterated(module: Module, function: cst.FunctionDef) -> Iterator[str]:
    loops: list[cst.For | cst.CompFor] = [*module.within(function, cst.For), *module.within(function, cst.CompFor)]
    for loop in loops:
        source = loop.iter
        if isinstance(source, cst.Call) and isinstance(source.func, cst.Name):
            if source.func.value in _GOING_THROUGH:
                yield from (one.value.value for one in source.args if isinstance(one.value, cst.Name))
            elif source.func.value == "range" and any(_counted(module, function, source)):
                yield from _counted(module, function, source)
                yield from _picked(module, function, loop.target)
        elif isinstance(source, cst.Name):
            yield source.value


def _counted(module: Module, function: cst.FunctionDef, source: cst.Call) -> Iterator[str]:
    """What is as long as the ``source`` of a loop over its places says: ``range(len(x))``, or by a name that stands for the length."""
    asked = {node.value for node in module.within(source, cst.Name)}
    lengths = [*module.within(source, cst.Call)]
    for assigned in module.within(function, cst.Assign):
        if any(isinstance(t.target, cst.Name) and t.target.value in asked for t in assigned.targets):
            lengths += module.within(assigned.value, cst.Call)
    for call in lengths:
        if isinstance(call.func, cst.Name) and call.func.value == "len" and len(call.args) == 1:
            measured = call.args[0].value
            if isinstance(measured, cst.Name):
                yield measured.value


def _picked(module: Module, function: cst.FunctionDef, place: cst.BaseExpression) -> Iterator[str]:
    """What is subscripted with the ``place`` in a sequence alone."""
    for node in module.within(function, cst.Subscript):
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(node.value, cst.Name) and isinstance(index, cst.Index) and index.value.deep_equals(place):
            yield node.value.value


def _used_as_tensors(module: Module, function: cst.FunctionDef) -> Iterator[str]:
    """The names of which an attribute is asked, as of tensors, and those that kernels are given."""
    for node in module.within(function, cst.Attribute):
        owner = (dotted_name(node) or "").partition(".")[0]
        if owner:
            yield owner
    for call in module.within(function, cst.Call):
        if isinstance(call.func, cst.Subscript):
            yield from (given.value.value for given in call.args if isinstance(given.value, cst.Name))
