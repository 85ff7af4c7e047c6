"""The jit functions that a kernel calls, for rules that read its text: what they do is done where they are called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TypeVar

import libcst as cst

from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.rules.proofs.source_text import names_in
from kernlint.syntax.names import variables
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk, walk_until

Node = TypeVar("Node", bound=cst.CSTNode)
Helpers = dict[str, cst.FunctionDef]

#: Nodes of a value that is still written out: one that names its parameter twice doubles with each call around it.
_LARGEST = 2000

#: What a rule looks for in a function: names in it, given the calls of helpers that stand there.
NamesIn = Callable[[cst.FunctionDef, Collection[cst.Call]], set[str]]


def names_with_helpers(function: cst.FunctionDef, module: Module, own: NamesIn) -> set[str]:
    """The names that ``own`` finds in ``function``, and those that it hands to a helper of the module where ``own`` finds
    the parameter in turn. ``own`` is told which calls these are, so that it can leave out what is only handed on."""
    return _names(function, module, own, {})


def _names(function: cst.FunctionDef, module: Module, own: NamesIn, known: dict[str, set[str]]) -> set[str]:
    """As :func:`names_with_helpers`; ``known`` are the answers for helpers, so far nothing for those that are asked now."""
    helpers = module.once(_helpers)
    calls = [call for call in module.within(function.body, cst.Call) if _name(call) in helpers]
    found = own(function, calls)
    for call in calls:
        name = _name(call)
        bound = _bound(helpers[name], call)
        if bound is None:
            # How the arguments fall on the parameters is not known: any may be what is looked for.
            found |= names_in(call)
            continue
        if name not in known:
            known[name] = set()
            known[name] = _names(helpers[name], module, own, known)
        for parameter, value in bound.items():
            if parameter in known[name]:
                found |= names_in(value)
    return found


def names_read(function: cst.FunctionDef, module: Module) -> set[str]:
    """The names that stand in the body of ``function``, those that it only hands to a helper where that one reads them."""
    known = module.once(_known)
    if function not in known:
        known[function] = names_with_helpers(function, module, partial(_names_outside, module))
    return known[function]


def _known(module: Module) -> dict[cst.FunctionDef, set[str]]:
    """What :func:`names_read` has found for functions of ``module`` so far."""
    return {}


def _names_outside(module: Module, function: cst.FunctionDef, calls: Collection[cst.Call]) -> set[str]:
    if not calls:
        return {name.value for name in module.within(function.body, cst.Name)}
    handed_on = set(calls)
    nodes = walk_until(function.body, lambda node: node in handed_on)
    return {node.value for node in nodes if type(node) is cst.Name}


def written_out(node: Node, module: Module) -> Node:
    """``node`` with each call of a helper that only returns a value replaced by that value.

    The result is another tree wherever there is such a call: its nodes have no places in the module.
    """
    return _replaced(node, module.once(_results))


#: A helper with what it returns.
Results = dict[str, tuple[cst.FunctionDef, cst.BaseExpression]]


def _results(module: Module) -> Results:
    """The helpers that only return a value, with that value, other helpers written out in it; none that calls itself."""
    left = {name: (node, value) for name, node in module.once(_helpers).items() if (value := _result(node)) is not None}
    found: Results = {}
    while True:
        ready = {
            name: (node, _replaced(value, found))
            for name, (node, value) in left.items()
            if not any(isinstance(call, cst.Call) and _name(call) in left for call in walk(value))
        }
        if not ready:
            return found
        found |= ready
        left = {name: one for name, one in left.items() if name not in ready}


def _replaced(node: Node, results: Results) -> Node:
    while True:
        calls = [call for call in walk(node) if isinstance(call, cst.Call) and _name(call) in results]
        # Of calls in one another the inner one stands last.
        values = ((call, _value(*results[_name(call)], call)) for call in reversed(calls))
        found = next(((call, value) for call, value in values if value is not None), None)
        if found is None:
            return node
        node = node.deep_replace(*found)  # type: ignore[assignment]


def _helpers(module: Module) -> Helpers:
    """The jit functions at hand under their names, where a name has one alone."""
    found: Helpers = {}
    twice: set[str] = set()
    for function in jit_functions(module):
        if function.name in found:
            twice.add(function.name)
        found[function.name] = function.node
    return {name: node for name, node in found.items() if name not in twice}


def _name(call: cst.Call) -> str:
    return call.func.value if isinstance(call.func, cst.Name) else ""


def _bound(helper: cst.FunctionDef, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """The argument of each parameter that the call gives one; None where arguments are unpacked or too many."""
    parameters = [parameter.name.value for parameter in helper.params.params]
    bound: dict[str, cst.BaseExpression] = {}
    for position, arg in enumerate(call.args):
        if arg.star or (arg.keyword is None and position >= len(parameters)):
            return None
        bound[arg.keyword.value if arg.keyword is not None else parameters[position]] = arg.value
    return bound


def _result(helper: cst.FunctionDef) -> cst.BaseExpression | None:
    """What a helper returns that does nothing else but say what it is about."""
    texts = (cst.SimpleString, cst.ConcatenatedString)
    statements = _small_statements(helper)
    lines = [one for one in statements if not (isinstance(one, cst.Expr) and isinstance(one.value, texts))]
    last = lines[0] if len(lines) == 1 else None
    return last.value if isinstance(last, cst.Return) else None


def _small_statements(helper: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    for line in helper.body.body:
        yield from line.body if isinstance(line, cst.SimpleStatementLine) else (line,)


def _value(helper: cst.FunctionDef, result: cst.BaseExpression, call: cst.Call) -> cst.BaseExpression | None:
    """``result`` of ``helper`` with the arguments of ``call``; None where it is not plain what they are."""
    bound = _bound(helper, call)
    if bound is None:
        return None
    defaults = {p.name.value: p.default for p in helper.params.params if p.default is not None}
    given = {**defaults, **bound}
    if any(parameter.name.value not in given for parameter in helper.params.params):
        return None
    values = {name: _grouped(value) for name, value in given.items()}
    uses = {id(name) for name in variables(result)}
    written = result.visit(_Given(values, uses))
    if not isinstance(written, cst.BaseExpression) or sum(1 for _ in walk(written)) > _LARGEST:
        return None
    return _grouped(written)


def _grouped(value: cst.BaseExpression) -> cst.BaseExpression:
    if value.lpar or isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber)):
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


class _Given(cst.CSTTransformer):
    """Puts arguments in the place of parameters, at these uses of them."""

    def __init__(self, values: dict[str, cst.BaseExpression], uses: set[int]) -> None:
        super().__init__()
        self.values = values
        self.uses = uses

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        value = self.values.get(original_node.value) if id(original_node) in self.uses else None
        return updated_node if value is None else value.deep_clone()
