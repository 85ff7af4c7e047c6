"""LibCST imported with the dataclass of the house is LibCST as it is."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys

import libcst as cst
import pytest

#: Whatever of kernlint brings LibCST in.
ENTRIES = ("kernlint.analysis", "kernlint.rules.registry; kernlint.rules.registry.all_rules()", "kernlint.syntax.walk")


@pytest.mark.parametrize("entry", ENTRIES)
def test_ours_is_the_first_import(entry: str) -> None:
    code = f"import {entry}; import sys, libcst; print(libcst.Name.__setattr__.__module__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "kernlint.syntax.lean"


def test_what_was_imported_before_stays() -> None:
    code = "import libcst; import kernlint.syntax; print(libcst.Name.__setattr__.__module__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "libcst._nodes.expression"


def test_the_standard_library_is_left_as_it_was() -> None:
    assert dataclasses.dataclass.__module__ == "dataclasses"


def test_nodes_are_as_ever() -> None:
    name = cst.Name("x")
    assert name.value == "x" and name.lpar == () and name != cst.Name("x") and name.deep_equals(cst.Name("x"))
    assert [field.name for field in dataclasses.fields(name)] == ["value", "lpar", "rpar"]
    assert name.with_changes(value="y").value == "y"
    assert cst.Tuple([]).lpar[0] is not cst.Tuple([]).lpar[0]
    assert not hasattr(name, "__dict__")
    assert pickle.loads(pickle.dumps(name)).value == copy.deepcopy(name).value == "x"
    with pytest.raises(dataclasses.FrozenInstanceError):
        name.value = "y"  # type: ignore[misc]
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")
    with pytest.raises(TypeError):
        cst.Name()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        cst.BaseExpression()  # type: ignore[abstract]


def test_nodes_are_looked_up_without_running_python() -> None:
    code = """if True:
        import kernlint.syntax, libcst
        kinds = [one for one in vars(libcst).values() if isinstance(one, type) and issubclass(one, libcst.CSTNode)]
        assert len(kinds) > 100
        assert {(one.__eq__, one.__hash__) for one in kinds} == {(object.__eq__, object.__hash__)}
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_node_is_can_be_asked() -> None:
    name = cst.Name("x")
    assert isinstance(name, cst.Name) and isinstance(name, cst.BaseExpression) and isinstance(name, cst.CSTNode)
    assert isinstance(name, (cst.Call, cst.Name)) and not isinstance(name, cst.Call) and not isinstance(None, cst.Name)
    assert issubclass(cst.If, cst.BaseCompoundStatement) and not issubclass(cst.If, cst.BaseExpression)


def test_nodes_of_others_can_be_derived() -> None:
    @dataclasses.dataclass(frozen=True)
    class Marked(cst.Name):
        mark: int = 1

    assert Marked("x").mark == 1 and Marked("x").value == "x"
    with pytest.raises(dataclasses.FrozenInstanceError):
        Marked("x").mark = 2  # type: ignore[misc]


def test_source_comes_back_whole() -> None:
    text = "@f  # a\nasync def g(a, *, b: int = 1, **c) -> 'x':\n    return [i async for i in a if i], f'{a!r:>{b}}'\n"
    assert cst.parse_module(text).code == text
