"""Finds the rules: every ``Rule`` class in a module of a category's folder, without a list of names to keep."""

from __future__ import annotations

import difflib
import inspect
import pkgutil
from functools import lru_cache
from importlib import import_module
from types import ModuleType

import kernlint.syntax  # noqa: F401 - which imports LibCST its own way
from kernlint.errors import UsageError, suggestion
from kernlint.rules.base import CATEGORIES, Rule

_PACKAGE = __name__.rpartition(".")[0]


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, by code. Raises ``TypeError`` where two share a code or a name."""
    found = [rule() for category in CATEGORIES for module in _modules(category) for rule in rules_in(module)]
    found.sort(key=lambda rule: rule.code)
    seen: dict[str, Rule] = {}
    for rule in found:
        for key in (rule.code, rule.name):
            if key in seen:
                raise TypeError(f"{type(rule).__module__} and {type(seen[key]).__module__} are both called {key}")
            seen[key] = rule
    return tuple(found)


def find_rule(code_or_name: str) -> Rule:
    """The rule with that code or name, in any case. Raises ``UsageError`` with the nearest ones where there is none."""
    wanted = code_or_name.strip()
    for rule in all_rules():
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return rule
    # Codes that look alike have nothing else in common.
    close = difflib.get_close_matches(wanted.lower(), [rule.name for rule in all_rules()], n=3, cutoff=0.6)
    hint = suggestion(close, "`kernlint rules` lists all")
    raise UsageError(f"no rule {code_or_name!r}{hint}")


def rules_in(module: ModuleType) -> list[type[Rule]]:
    """The rule classes that ``module`` itself defines, in the order of their names."""
    members = (member for _, member in sorted(vars(module).items()))
    return [
        member
        for member in members
        # On Python 3.10 an alias such as list[int] is an instance of type, but no class.
        if issubclass(type(member), type)
        and Rule in member.__mro__  # `issubclass` of an abstract class asks all of its subclasses
        and member.__module__ == module.__name__
        and not inspect.isabstract(member)
    ]


def _modules(category: str) -> list[ModuleType]:
    package = import_module(f"{_PACKAGE}.{category}")
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_"))
    return [import_module(f"{package.__name__}.{name}") for name in names]
