"""The jit functions that a kernel calls, for rules that read its text: what they do is done where they are called."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import libcst as cst

from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.rules.proofs.source_text import names_in
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk_until

Helpers = dict[str, cst.FunctionDef]

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
