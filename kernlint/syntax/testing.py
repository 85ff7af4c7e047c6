"""Functions that test or measure what others compute."""

from __future__ import annotations

import re
from pathlib import PurePath

import libcst as cst

from kernlint.syntax.names import bound_by, dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.workload.span import Span

#: What is called to measure, beside clocks and whatever has "bench" in its name.
_MEASURING = frozenset({"perf_report", "perf_counter", "Event", "Timer", "elapsed_time", "profile"})
#: Clocks of the host.
CLOCKS = frozenset(
    f"time.{name}{unit}" for name in ("time", "perf_counter", "monotonic", "process_time") for unit in ("", "_ns")
)
#: Functions that give the result of a test, or end one.
_ANSWERS = frozenset("bool isinstance hasattr all any allclose equal is_available skip xfail fail".split())
#: Those that say whether two tensors agree, and the origins of what asserts or calls tests by itself.
_AGREEMENTS = frozenset("allclose array_equal equal isclose".split())
_MAGNITUDES = frozenset({"abs", "norm", "max", "amax"})
_ASSERTING = ("pytest.", "torch.testing.assert", "triton.testing.assert", "numpy.testing.assert")
#: The modules whose classes call the methods of those derived from them as tests.
_CASES = ("unittest.", "torch.testing.")
_COLLECTED = re.compile(r"test_.*\.py|.*_test\.py")


def is_test(node: cst.FunctionDef, module: Module) -> bool:
    """Whether the function is there to fail: it returns no result, and pytest's decorators call it, or it asserts that what it
    was given or has computed agrees with something. What such a call waits for is what it asserts."""
    if not returns_answers(node, module):
        return False
    compared = [call for one in module.own(node.body, cst.Assert) for call in module.within(one.test, cst.Call)]
    if any(isinstance(call.func, cst.Attribute) and call.func.attr.value in _AGREEMENTS for call in compared):
        return True
    named = [*(one.decorator for one in node.decorators), *module.own(node.body, cst.Call)]
    return any((origin_of(one, module.imports) or "").startswith(_ASSERTING) for one in named)


def is_check(node: cst.FunctionDef | cst.Module, module: Module) -> bool:
    """Whether the function, or the script outside of its functions, is there to say how well results agree: it returns none, and is a
    test, or prints or asserts whether tensors agree or how large their difference is, and does nothing else with the answer."""
    if isinstance(node, cst.FunctionDef) and (is_test(node, module) or not returns_answers(node, module)):
        return is_test(node, module)
    told = _reported_calls(node, module)
    return any(id(call) in told and _is_agreement(call) for call in module.own(node, cst.Call))


def is_read_by_check(span: Span, node: cst.FunctionDef, module: Module) -> bool:
    """Whether what stands at ``span`` in the function is read for nothing but what a check says (:func:`is_check`)."""
    if not is_check(node, module):
        return False
    told = _reported_calls(node, module)
    return any(id(name) in told and span.contains(module.span(name)) for name in module.own(node, cst.Name))


def is_reported(call: cst.CSTNode, node: cst.FunctionDef, module: Module) -> bool:
    """Whether what ``call`` in the function gives is printed or returned, and used for nothing else: it chooses nothing."""
    return id(call) in _reported_calls(node, module, choosing=False)


def _reported_calls(node: cst.FunctionDef | cst.Module, module: Module, choosing: bool = True) -> set[int]:
    """The calls and names in ``node``, by identity, whose values are used for nothing but to be printed, asserted, or returned as
    answers, and, with ``choosing``, to choose what else is."""
    told: set[int] = set()
    places: list[cst.CSTNode] = [one for kind in (cst.Assert, cst.Return) for one in module.own(node, kind)]
    places += [one.test for one in module.own(node, cst.If) if choosing and not module.within(one, cst.Break)]
    places += [call for call in module.own(node, cst.Call) if dotted_name(call.func) == "print"]
    assigned: dict[cst.Assign | cst.Arg, cst.Name] = {
        one: name for one in module.own(node, cst.Assign) if len(one.targets) == 1 for name in bound_by(one)
    }
    for call in module.own(node, cst.Call):
        match call:  # a value that a list takes is one of the list
            case cst.Call(func=cst.Attribute(value=cst.Name() as name, attr=cst.Name(value="append")), args=[value]):
                assigned[value] = name
    bound = set(map(id, assigned.values()))
    while places:
        told.update(
            id(part) for place in places for kind in (cst.Call, cst.Name) for part in module.within(place, kind)
        )
        told.update(map(id, assigned.values()))
        reads = [name for name in module.variables(node) if id(name) not in bound]
        others = {name.value for name in reads if id(name) not in told}
        known = others if choosing else others | {n.value for n in assigned.values()} - {n.value for n in reads}
        places = [one.value for one, name in assigned.items() if name.value not in known]
        assigned = {one: name for one, name in assigned.items() if name.value in known}
    return told


def _is_agreement(call: cst.Call) -> bool:
    """Whether ``call`` says if tensors agree, or how large their difference is: ``(a - b).abs()``, ``torch.amax(a - b)``."""
    func = call.func
    name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
    operands = [func.value] if isinstance(func, cst.Attribute) else []
    operands += [arg.value for arg in call.args[:1]]
    differ = any(isinstance(one, cst.BinaryOperation) and isinstance(one.operator, cst.Subtract) for one in operands)
    return name in _AGREEMENTS or (name in _MAGNITUDES and differ)


def is_test_case(node: cst.ClassDef, module: Module) -> bool:
    """Whether the methods of the class are called as tests, by a library that it is derived from."""
    return any((origin_of(base.value, module.imports) or "").startswith(_CASES) for base in node.bases)


def is_test_file(path: str) -> bool:
    """Whether pytest collects the file at ``path`` by its name, and that does not say that it measures."""
    name = PurePath(path).name.lower()
    return (name == "conftest.py" or bool(_COLLECTED.fullmatch(name))) and "bench" not in name and "perf" not in name


def measures(node: cst.CSTNode, module: Module) -> bool:
    """Whether code in ``node`` calls what measures."""
    called = {name.value for name in module.within(node, cst.Name)}
    called |= {attribute.attr.value for attribute in module.within(node, cst.Attribute)}
    clocks = (origin_of(call.func, module.imports) for call in module.within(node, cst.Call))
    return bool(called & _MEASURING or any("bench" in name.lower() for name in called) or "time.time" in clocks)


def is_benchmark(node: cst.FunctionDef, module: Module) -> bool:
    """Whether Triton's benchmarking calls the function."""
    return any(origin_of(one.decorator, module.imports) == "triton.testing.perf_report" for one in node.decorators)


def is_guarded_main(node: cst.CSTNode) -> bool:
    """Whether ``node`` runs only where its file is run as a script: ``if __name__ == ...``."""
    test = node.test if isinstance(node, cst.If) else None
    return isinstance(test, cst.Comparison) and dotted_name(test.left) == "__name__"


def expects_errors(manager: cst.BaseExpression) -> bool:
    """Whether the body of ``with manager`` is there to raise: ``pytest.raises(...)``, ``self.assertRaises(...)``."""
    name = dotted_name(manager.func) if isinstance(manager, cst.Call) else None
    return (name or "").rpartition(".")[2] in ("raises", "assertRaises", "assertRaisesRegex")


def returns_answers(node: cst.FunctionDef, module: Module) -> bool:
    """Whether a function of ``module`` returns nothing but None, constants and the results of tests."""
    returned = module.own(node.body, cst.Return)
    return all(_is_answer(part.value) for part in returned) and not module.own(node.body, cst.Yield)


def _is_answer(value: cst.BaseExpression | None) -> bool:
    if value is None or isinstance(value, (cst.Comparison, cst.SimpleString, cst.Integer, cst.Float)):
        return True
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.operator, cst.Not)
    if isinstance(value, cst.BooleanOperation):
        return _is_answer(value.left) and _is_answer(value.right)
    if isinstance(value, cst.Call):
        name = (dotted_name(value.func) or "").rpartition(".")[2]
        return name in _ANSWERS
    return isinstance(value, cst.Name) and value.value in ("None", "True", "False")
