"""Which code of a kernel is compiled, and by whom: conditions that constants decide, and decorators that may run the kernel otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import libcst as cst

from kernlint.interpret.project import launchers, module_of, origin, statements_of
from kernlint.records import dataclass
from kernlint.rules.finding import Context
from kernlint.rules.proofs.jit_functions import Decorated, jit_functions, strings
from kernlint.rules.proofs.source_text import names_in
from kernlint.syntax.copies import top_functions
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.positions import python_value
from kernlint.syntax.tree import Module
from kernlint.syntax.unreached import Constants
from kernlint.syntax.walk import parameters
from kernlint.workload import Launch, Span

#: What runs kernels on the CPU, without the compiler's demands.
_INTERPRETER = "triton.runtime.interpreter"


@dataclass(frozen=True)
class Choice:
    """A branch of a kernel that is compiled only where ``test`` is ``taken``."""

    test: cst.BaseExpression
    taken: bool


def never_compiled(context: Context, kernel: str, span: Span) -> str:
    """The compile-time condition around ``span`` that none of the launches in view can fulfil; empty where there is none."""
    module = context.program.kernel
    for function in jit_functions(module):
        if function.name == kernel:
            launches = [one for w in context.program.workloads() for one in w.launches() if one.kernel.name == kernel]
            for choice in _choices(module, function, span):
                if launches and not any(_may_take(choice, launch, function.node, module) for launch in launches):
                    return f"{'' if choice.taken else 'not '}{module.code(choice.test)}"
    return ""


def never_reached(context: Context, kernel: str) -> str:
    """The condition that keeps the last launch of ``kernel`` in the module from being reached, where no size gets to any of them;
    else empty."""
    module = context.program.kernel
    calls = [call for call in module.of(cst.Call) if isinstance(call.func, cst.Subscript)]
    tests = [_closed(module, call, context) for call in calls if dotted_name(call.func.value) == kernel]  # type: ignore[attr-defined]
    return tests[-1] if all(tests) and tests else ""


def _closed(module: Module, place: cst.CSTNode, context: Context) -> str:
    """The condition of an ``if`` around ``place`` that goes the other way at all sizes; empty where there is none."""
    span = module.span(place)
    for node in (one for one in module.of(cst.If) if isinstance(one.test, cst.Comparison)):
        outcomes = context.program.outcomes.get(node.test, set())
        if outcomes == {False} and _covers(module, node.body, span):
            return module.code(node.test)
        if outcomes == {True} and node.orelse is not None and _covers(module, node.orelse, span):
            return f"not {module.code(node.test)}"
    return ""


def _choices(module: Module, function: Decorated, span: Span) -> Iterator[Choice]:
    """The branches of compile-time conditions in ``function`` that ``span`` stands in."""
    constants = _constants(module, function)
    parameters = {p.name.value for p in (*function.node.params.params, *function.node.params.kwonly_params)}
    for node in module.within(function.node.body, cst.If):
        body, other = _covers(module, node.body, span), node.orelse is not None and _covers(module, node.orelse, span)
        names = names_in(node.test)
        absent = isinstance(node.test, cst.Comparison) and "None" in names and names - {"None"} <= parameters
        if (body or other) and names and (absent or names - {"None", "True", "False"} <= constants):
            yield Choice(node.test, body)


def _constants(module: Module, function: Decorated) -> set[str]:
    """The names in a kernel that are annotated as constants of its compilation."""
    params = (*function.node.params.params, *function.node.params.kwonly_params)
    annotated: list[tuple[cst.CSTNode, cst.Annotation | None]] = [(p.name, p.annotation) for p in params]
    annotated += [(node.target, node.annotation) for node in module.within(function.node.body, cst.AnnAssign)]
    return {
        name.value
        for name, annotation in annotated
        if isinstance(name, cst.Name) and annotation is not None and "constexpr" in module.code(annotation.annotation)
    }


def _covers(module: Module, node: cst.CSTNode, span: Span) -> bool:
    around = module.span(node)
    return (around.line, around.column) <= (span.line, span.column) and span.end_line <= around.end_line


def _may_take(choice: Choice, launch: Launch, kernel: cst.FunctionDef, module: Module) -> bool:
    known = {**launch.arguments, **launch.constexprs}
    unknown = {*launch.open_constexprs, *dict(_handed_on(module.at(launch.span, cst.Call), kernel, module))}
    values = {n: [v] for n, v in known.items() if n not in unknown and isinstance(v, (int, float, str, type(None)))}
    test = choice.test if choice.taken else cst.UnaryOperation(cst.Not(), choice.test)
    return not Constants(module).never(test, values.get)


def asked_for_elsewhere(module: Module, function: str) -> bool:
    """Whether a kernel of another file, which launches it, calls ``function`` of ``module``: always, or where callers of the launcher ask
    for it."""
    return any(_asks_for(function, other) for other in launchers(module.path, [function]))


def _asks_for(function: str, module: Module) -> bool:
    launches = [call for call in module.of(cst.Call) if isinstance(call.func, cst.Subscript)]
    for kernel in jit_functions(module):
        calls = (call for call in module.within(kernel.node.body, cst.Call) if dotted_name(call.func) == function)
        own = [one for one in launches if dotted_name(one.func.value) == kernel.name]  # type: ignore[attr-defined]
        for choices in ([*_choices(module, kernel, module.span(call))] for call in calls):
            if any(all(_may_ask(choice, launch, kernel.node, module) for choice in choices) for launch in own):
                return True
    return False


def _may_ask(choice: Choice, launch: cst.Call, kernel: cst.FunctionDef, module: Module) -> bool:
    """Whether callers of the function around ``launch`` decide about ``choice`` and no list that it asserts keeps them from it."""
    given = dict(_handed_on(launch, kernel, module))
    listed = {name: _listed(value, launch, module) for name, value in given.items()}
    test = choice.test if choice.taken else cst.UnaryOperation(cst.Not(), choice.test)
    decided = names_in(choice.test) - {"None", "True", "False"} <= given.keys()
    return decided and not Constants(module).never(test, {name: one for name, one in listed.items() if one}.get)


def _listed(value: cst.BaseExpression, launch: cst.Call, module: Module) -> list[Any]:
    """The strings that ``value`` is one of, as the functions around ``launch`` assert."""
    around = [one for one in module.of(cst.FunctionDef) if module.span(one).contains(module.span(launch))]
    tests = [check.test for one in around for check in module.within(one, cst.Assert)]
    own = [test for test in tests if isinstance(test, cst.Comparison) and test.left.deep_equals(value)]
    ends = [test.comparisons[0] for test in own if len(test.comparisons) == 1]
    listed = (text for end in ends if isinstance(end.operator, cst.In) for text in strings(end.comparator))
    return [python_value(text.value) for text in listed]


def _handed_on(
    call: cst.Call | None, kernel: cst.FunctionDef, module: Module
) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The parameters of ``kernel`` for which the launch ``call`` passes what anybody may give the function around it, and that."""
    around = [one for one in module.of(cst.FunctionDef) if call and module.span(one).contains(module.span(call))]
    given = {p.name.value for one in around if not one.name.value.startswith("_") for p in parameters(one)} - {"self"}
    names = chain((param.name.value for param in parameters(kernel)), repeat(""))
    for arg, name in zip(call.args if call is not None else (), names):
        if not given.isdisjoint(names_in(arg.value)):
            yield name if arg.keyword is None else arg.keyword.value, arg.value


def is_rewritten(context: Context, kernel: str) -> bool:
    """Whether the module changes the source of a kernel before it is compiled, which is a template then."""
    module = context.program.kernel
    targets = [target.target for node in module.of(cst.Assign) for target in node.targets]
    changed = [node for node in targets if isinstance(node, cst.Attribute) and node.attr.value in ("src", "_src")]
    called = [call.func for call in module.of(cst.Call) if isinstance(call.func, cst.Attribute)]
    changed += [node for node in called if node.attr.value == "_unsafe_update_src"]
    return any(dotted_name(node.value) == kernel for node in changed)


def run_otherwise(context: Context, kernel: str) -> str:
    """The decorator of a kernel that may hand its launches to something else than Triton's compiler; empty where there is none."""
    module = context.program.kernel
    names = (name for function in jit_functions(module) if function.name == kernel for name in function.origins)
    others = (one for one in names if one and "triton" not in one.rpartition(".")[0].split("."))
    return next((one for one in others if _interprets(module.path, one)), "")


def called_before_defined_again(module: Module, kernel: str, place: Span) -> bool:
    """Whether the function around ``place`` stands between two functions that are called ``kernel``, and is called there: as the cells of
    a notebook are run, it launches the first."""
    if kernel in module.once(top_functions):
        return False  # as nearly all are, defined once
    statements = module.tree.body
    defined = [i for i, one in enumerate(statements) if isinstance(one, cst.FunctionDef) and one.name.value == kernel]
    own = next((i for i, one in enumerate(statements) if module.span(one).contains(place)), 0)
    function, later = statements[own], next((i for i in defined if i > own), 0)
    if not isinstance(function, cst.FunctionDef) or not later or defined[0] > own:
        return False
    run = (one for one in statements[own + 1 : later] if not isinstance(one, (cst.FunctionDef, cst.ClassDef)))
    return any(function.name.value in names_in(one) for one in run)


def interpreter_of(module: Module, place: Span) -> str:
    """What has the kernel of ``module`` with ``place`` in it run as Python, not compiled; empty where nothing says so:
    `os.environ["TRITON_INTERPRET"] = "1"` before it, as the last such statement outside of functions and branches (who makes a kernel
    asks it), or a launch through a wrapper of another package that may do so."""
    switches = module.once(_switches)
    if [on for line, on in switches if place.file != module.path or line < place.line][-1:] == [True]:
        return "TRITON_INTERPRET"
    return module.once(_foreign_launcher)


def _foreign_launcher(module: Module) -> str:
    launchers = [call.func.value for call in module.of(cst.Call) if isinstance(call.func, cst.Subscript)]
    return next((_foreign(one, module) for one in launchers if isinstance(one, cst.Call) and _foreign(one, module)), "")


def _foreign(wrapped: cst.Call, module: Module) -> str:
    """The origin of what ``wrapped`` calls where it is of another package than Triton and torch, one that may run kernels as Python;
    else empty."""
    head, name = (dotted_name(wrapped.func) or "").split(".")[0], origin_of(wrapped, module.imports) or ""
    other = head in module.imports and name.split(".")[0] not in ("triton", "torch")
    return name if other and _interprets(module.path, name) else ""


def _switches(module: Module) -> list[tuple[int, bool]]:
    """The lines outside of functions and branches that set `TRITON_INTERPRET`, with whether they switch the interpreter on."""
    lines = (line for line in module.tree.body if isinstance(line, cst.SimpleStatementLine))
    found = []
    for statement in (one for line in lines for one in line.body if isinstance(one, cst.Assign)):
        target = statement.targets[0].target
        if isinstance(target, cst.Subscript) and origin_of(target.value, module.imports) == "os.environ":
            name, *value = [python_value(one.value) for one in module.within(statement, cst.SimpleString)] or [""]
            if name == "TRITON_INTERPRET":
                found.append((module.span(statement).line, value == ["1"]))
    return found


def _interprets(path: str, decorator: str) -> bool:
    """Whether a decorator by this origin is of a package that is not in view, or of a module that knows Triton's interpreter, or a
    function that imports one."""
    name = decorator.lstrip(".")
    package, _, last = name.rpartition(".")
    if not package:
        return False
    file = module_of(path, package, len(decorator) - len(name))
    if file is None:
        return True
    where, name = origin(str(file), last)
    functions = (one for one in statements_of(where) if isinstance(one, ast.FunctionDef) and one.name == name)
    imports = (node for one in functions for node in ast.walk(one) if isinstance(node, ast.ImportFrom))
    files = [Path(where), *filter(None, (module_of(where, node.module or "", node.level) for node in imports))]
    try:
        return any(_INTERPRETER in one.read_text("utf-8", "replace") for one in files)
    except OSError:
        return False
