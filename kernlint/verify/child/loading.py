"""Executes a source file as a module, with module-level constants replaced."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

_HOOK = "__kernlint_override__"


def load(path: str, name: str, overrides: Mapping[str, Any], package: str = "") -> ModuleType:
    """The module of the file at ``path`` under the name ``name``; each name of ``overrides`` has its given value from the
    statement on that binds it at module level. ``package`` is what relative imports count from. Raises whatever the code
    raises."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    tree = ast.parse(text, path)
    tree.body = [one for statement in tree.body for one in (statement, *_overriding(statement, overrides))]
    module = ModuleType(name)
    module.__file__ = path
    module.__package__ = package
    setattr(module, _HOOK, _override)
    sys.modules[name] = module  # inspect, dataclasses and pickle look modules up there
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


def _overriding(statement: ast.stmt, overrides: Mapping[str, Any]) -> list[ast.stmt]:
    """Statements that put the given values in the place of those that ``statement`` binds."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    made = [ast.parse(f"{n} = {_HOOK}({n}, {overrides[n]!r})").body[0] for n in names if n in overrides]
    for new in made:
        for node in ast.walk(new):
            ast.copy_location(node, statement)
    return made


def _override(old: Any, new: Any) -> Any:
    """``new``, as a ``tl.constexpr`` where ``old`` is one."""
    return type(old)(new) if type(old).__name__ == "constexpr" else new
