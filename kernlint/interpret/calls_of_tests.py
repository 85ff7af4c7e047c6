"""How tests and benchmarks are called, each for the first sets of values that it is to be tried with, and with its fixtures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import libcst as cst

from kernlint.interpret.calling import tried_by
from kernlint.interpret.host.objects import class_attribute
from kernlint.interpret.host.values import ParameterSet
from kernlint.interpret.python.control import Break, Continue, Raised
from kernlint.interpret.reading.entries import Reading
from kernlint.interpret.values import Class, Function, Instance, Unknown, Yielded
from kernlint.syntax.names import dotted_name

#: Sets of values of a test, or a benchmark, that are tried.
_MOST_CASES = 4
#: Folders from that of a test up in which `conftest.py` is looked for, and fixtures that ask for one another.
_MOST_FOLDERS, _MOST_FIXTURES = 4, 4
#: What a class of tests does before each of them.
_PREPARING = ("setUp", "setup_method", "setup")


def call_test(reading: Reading, function: Function, first: Sequence[Any] = ()) -> None:
    """Call ``function``, once for each of the first sets of values that it is to be tried with."""
    names = _names(function)[len(first) :]
    for case in _cases(reading, function, names):
        asked = [name for name in names if name not in case]
        fixtures = {name: value for name in asked for value in _fixture(reading, name, _MOST_FIXTURES)}
        usual = reading._arguments(function, None, skip=len(first))
        given = [case.get(name, fixtures.get(name, value)) for name, value in zip(names, usual)]
        try:
            reading.host.invoke(function, [*first, *given], {})
        except (Raised, Break, Continue):
            continue


def call_methods(reading: Reading, cls: Class) -> None:
    """Make an object of ``cls`` and call the methods that say something."""
    host = reading.host
    instance: Any = Instance(cls)
    init = class_attribute(host, cls, "__init__", None)
    if isinstance(init, Function):
        host.invoke(init, [instance, *reading._arguments(init, None, skip=1)], {})
    called = [one for name, one in cls.scope.vars.items() if isinstance(one, Function) and name != "__init__"]
    # Nobody calls a lambda of a class as a test.
    methods = [one for one in called if isinstance(one.node, cst.FunctionDef)]
    for method in sorted(methods, key=lambda one: one.name not in _PREPARING):
        call_test(reading, method, (cls if "classmethod" in method.decorators else instance,))


def _names(function: Function) -> list[str]:
    params = function.node.params
    return [p.name.value for p in (*params.posonly_params, *params.params)]


def _cases(reading: Reading, function: Function, names: list[str]) -> list[dict[str, Any]]:
    """Values by parameter, one of ``names``, that decorators tell; one empty set where there are none."""
    host = reading.host
    columns: list[tuple[list[str], list[Any]]] = []
    for decorator in getattr(function.node, "decorators", ()):
        with host.within(function.module):
            columns += [(told, rows) for told, rows in _columns(reading, decorator, names) if rows]
    cases: list[dict[str, Any]] = []
    for index in range(min(_MOST_CASES, max((len(rows) for _, rows in columns), default=1))):
        case: dict[str, Any] = {}
        for told, rows in columns:
            # The last sets are the larger ones, as people write them.
            row = rows[-1 - index % len(rows)]
            if not isinstance(row, (tuple, list, dict)):
                row = [Unknown(name) for name in told]
            case.update(row if isinstance(row, dict) else zip(told, row))
        cases.append(case)
    return cases


def _columns(
    reading: Reading, decorator: cst.Decorator, parameters: list[str]
) -> Iterator[tuple[list[str], list[Any]]]:
    """Names of parameters, and the sets of values that ``decorator`` has them take: a sequence or a dictionary each, or something
    that is not known."""
    host, call, kind = reading.host, decorator.decorator, tried_by(decorator)
    if not kind or not isinstance(call, cst.Call):
        return
    if kind == "perf_report":
        yield from _benchmarked(reading, call)
        return
    given: list[Any] = []
    for argument in call.args:
        value = host.eval(argument.value, reading.scope) if argument.keyword is None and argument.star != "**" else None
        items = host.iterate(value) if argument.star == "*" else [value]
        if items is None:
            return
        given += items if argument.keyword is None and argument.star != "**" else ()
    if kind == "parametrize":
        indirect = any(a.keyword is not None and a.keyword.value == "indirect" for a in call.args)
        if len(given) > 1:
            yield from _parametrized(given[0], [Unknown("indirect")] if indirect else host.iterate(given[1]) or [])
        return
    cases = given
    if kind == "expand" or (len(given) == 1 and not isinstance(given[0], (tuple, dict))):
        cases = host.iterate(given[0]) or [] if given else []
    yield parameters, [_case(one, kind == "named_parameters") for one in cases]


def _case(case: Any, named: bool) -> Any:
    """The arguments of one case as absl's decorators take it, without its name where it has one."""
    if isinstance(case, dict):
        return {key: value for key, value in case.items() if not (named and key == "testcase_name")}
    if isinstance(case, (tuple, list)):
        return [*case[1:]] if named else case
    return case if isinstance(case, Unknown) or named else (case,)


def _parametrized(told: Any, values: list[Any]) -> Iterator[tuple[list[str], list[Any]]]:
    """The sets of values of pytest's decorator; those of a single name that stands in a string are not sequences of them."""
    names = [name.strip() for name in told.split(",") if name.strip()] if isinstance(told, str) else told
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        return
    alone = isinstance(told, str) and len(names) == 1
    yield [*names], [(one,) if alone and not isinstance(one, ParameterSet) else one for one in values]


def _benchmarked(reading: Reading, call: cst.Call) -> Iterator[tuple[list[str], list[Any]]]:
    """What ``triton.testing.perf_report`` tries, by the names of the parameters."""
    host = reading.host
    benchmark = call.args[0].value if call.args else None
    for each in benchmark.elements if isinstance(benchmark, (cst.List, cst.Tuple)) else ():
        benchmark = each.value  # one of several
    if not isinstance(benchmark, cst.Call):
        return
    told = {a.keyword.value: host.eval(a.value, reading.scope) for a in benchmark.args if a.keyword is not None}
    names, values, fixed = told.get("x_names"), host.iterate(told.get("x_vals")) or [], told.get("args")
    if isinstance(names, (list, tuple, str)) and all(isinstance(name, str) for name in names):
        yield [*names], [one if isinstance(one, (tuple, list)) else (one,) * len(names) for one in values]
    line, lines = told.get("line_arg"), host.iterate(told.get("line_vals")) or []
    if isinstance(line, str):
        yield [line], [(one,) for one in lines]
    if isinstance(fixed, dict):
        yield [*fixed], [[*fixed.values()]]


def _fixture(reading: Reading, name: str, depth: int) -> Iterator[Any]:
    """What the fixture called ``name`` of the module, or of a ``conftest.py`` above it, gives, if there is one."""
    found = next((one for one in _called(reading, name) if isinstance(one, Function)), None)
    marks = [d.decorator for d in getattr(found.node, "decorators", ())] if found is not None else []
    marked = [m for m in marks if (dotted_name(m.func if isinstance(m, cst.Call) else m) or "").endswith("fixture")]
    if found is None or not marked or not depth:
        return
    host = reading.host
    told = {
        a.keyword.value: a.value for m in marked if isinstance(m, cst.Call) for a in m.args if a.keyword is not None
    }
    with host.within(found.module):
        tried = host.iterate(host.eval(told["params"], found.closure)) if "params" in told else None
    last = tried[-1] if tried else None
    last = last[0] if isinstance(last, ParameterSet) and last else last
    request = Instance(None, "request", {"param": last} if tried else {})
    given = [
        request if name == "request" else next(_fixture(reading, name, depth - 1), Unknown(name))
        for name in _names(found)
    ]
    value = host.invoke(found, given, {})
    yield value[0] if isinstance(value, Yielded) and value else value


def _called(reading: Reading, name: str) -> Iterator[Any]:
    """What ``name`` stands for in the module and in each ``conftest.py`` of the folders from its own up."""
    yield reading.scope.get(name)
    for level in range(1, _MOST_FOLDERS + 1):
        find = reading._find(reading.kernel_module, "conftest", level)
        if find is not None:
            with suppress(KeyError):
                yield find(name)
