"""Imports, and the code of other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.library import external_attribute
from kernlint.interpret.host.releases import demand
from kernlint.interpret.values import Deferred, ModuleInView, Namespace, Reexported, Scope
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


#: Stands for what an expression gives in a scope of a module, until somebody asks.
PutOff = Callable[[Module, cst.BaseExpression, Scope], Deferred]


def import_modules(h: HostEvaluator, node: cst.Import, scope: Scope) -> None:
    for alias in node.names:
        path = dotted_name(alias.name) or ""
        demand(h, path)
        renamed = alias.asname is not None and isinstance(alias.asname.name, cst.Name)
        bound, package = (alias.asname.name.value, path) if renamed else (path.split(".")[0],) * 2  # type: ignore[union-attr]
        scope.assign(bound, _in_view(h, h.module, package, 0) or Namespace(_canonical(package)))


def import_names(h: HostEvaluator, node: cst.ImportFrom, scope: Scope) -> None:
    if isinstance(node.names, cst.ImportStar):
        return
    package = (dotted_name(node.module) or "") if node.module else ""
    level = len(node.relative)
    found = _in_view(h, h.module, package, level)
    for alias in node.names:
        name = dotted_name(alias.name) or ""
        bound = (
            alias.asname.name.value if alias.asname is not None and isinstance(alias.asname.name, cst.Name) else name
        )
        if found is None:
            # Folders are packages without an `__init__.py` too.
            below = _in_view(h, h.module, ".".join(part for part in (package, name) if part), level) if level else None
            scope.assign(bound, below or _not_found(h, package, name))
            continue
        scope.assign(bound, Deferred(partial(module_attribute, h, found, name)))
        if scope.parent is not None:
            scope.lookup(bound)  # a function's own import, at its place in the order of things


def _in_view(h: HostEvaluator, importer: Module, package: str, level: int) -> ModuleInView | None:
    """The module ``package`` as ``importer`` imports it, where it is one of the same source tree."""
    if h.finder is None or (not level and package.partition(".")[0] in ("torch", "triton")):
        return None
    find = h.finder(importer, package, level)
    return None if find is None else ModuleInView(package, find, importer, level)


def module_attribute(h: HostEvaluator, module: ModuleInView, name: str) -> Any:
    """What ``name`` stands for in a module of the same source tree: what that defines, or a module below it."""
    with suppress(KeyError):
        return module.find(name)
    below = ".".join(part for part in (module.path, name) if part)
    return _in_view(h, module.importer, below, module.level) or _not_found(h, module.path, name)


def _not_found(h: HostEvaluator, package: str, name: str) -> Any:
    """What ``name`` of a package outside the tree stands for."""
    if name in ("tl", "triton") and not package.startswith("triton"):
        # A package's own re-export, such as `from vllm.triton_utils import tl, triton`.
        return Reexported("triton.language" if name == "tl" else "triton")
    return external_attribute(h, Namespace(_canonical(package)), name)


def _canonical(path: str) -> str:
    """Import paths under which the same thing is also known."""
    return {"triton.language.core": "triton.language"}.get(path, path)


@contextmanager
def in_other_module(h: HostEvaluator, put_off: PutOff) -> Iterator[None]:
    """Module-level code of another file than that of the question: what the user set and what is edited or traced is
    not about it, and no call of the question's pays for it."""
    names = ("overrides", "constants", "edits", "new_literals", "new_options", "calls", "seen", "put_off")
    saved = {name: getattr(h, name) for name in names}
    h.put_off = put_off
    h.overrides, h.constants, h.edits = {}, {}, NO_EDITS
    h.new_literals, h.new_options, h.calls, h.seen = {}, {}, [], None
    try:
        with h.silent():
            yield
    finally:
        for name, value in saved.items():
            setattr(h, name, value)


def put_off_class(h: HostEvaluator, put_off: PutOff, node: cst.ClassDef, scope: Scope) -> None:
    """Follow the body of a class elsewhere, but for what calls make there."""
    for statement in node.body.body:
        made = _made_by_call(statement)
        if made is None:
            h.execute(statement, scope)
        else:
            name, call = made
            scope.assign(name, put_off(h.module, call, scope))


def _made_by_call(statement: cst.CSTNode) -> tuple[str, cst.Call] | None:
    """The name and the call of a statement that is nothing but ``name = function(...)``."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    node = statement.body[0]
    if type(node) is not cst.Assign or len(node.targets) != 1 or type(node.value) is not cst.Call:
        return None
    target = node.targets[0].target
    return (target.value, node.value) if type(target) is cst.Name else None
