"""The templates of docs/dev are what a newcomer copies: they load, and only the words are missing."""

import importlib.util
import sys
from pathlib import Path

from kernlint.operators.operator import Operator, WhyNot
from kernlint.rules.base import Rule

TEMPLATES = Path(__file__).parents[1] / "docs/dev/templates"


def load(name):
    spec = importlib.util.spec_from_file_location(f"template_{name}", TEMPLATES / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_rule():
    """A class that lacks anything fails as it is made."""
    (rule,) = [one for one in vars(load("rule")).values() if isinstance(one, type) and Rule in one.__mro__[1:]]
    assert rule().check


def test_an_operator():
    module = load("operator")
    (operator,) = [one for one in vars(module).values() if isinstance(one, Operator)]
    assert operator.name and operator.causes and module.WhyNot is WhyNot
