"""The jit functions of a module by their decorators, for rules that read the source alone."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.dialect import is_triton_jit
from kernlint.syntax.names import origin_of
from kernlint.syntax.tree import Module


@dataclass(frozen=True)
class Decorated:
    """A ``def`` with the dotted origins of its decorators, outermost first."""

    node: cst.FunctionDef
    origins: tuple[str, ...]
    is_jit: bool

    @property
    def name(self) -> str:
        return self.node.name.value


def functions(module: Module) -> Iterator[Decorated]:
    """Every ``def`` of the module, nested ones and methods included."""
    table = module.imports
    for node in module.of(cst.FunctionDef):
        origins = tuple(origin_of(d.decorator, table) or "" for d in node.decorators)
        yield Decorated(node, origins, any(is_triton_jit(d.decorator, table) for d in node.decorators))


def jit_functions(module: Module) -> Iterator[Decorated]:
    """Those decorated with ``triton.jit``."""
    return (function for function in functions(module) if function.is_jit)


def keyword(call: cst.CSTNode | None, name: str, position: int | None = None) -> cst.BaseExpression | None:
    """The argument of a call that is given by ``name``, or at ``position``."""
    if not isinstance(call, cst.Call):
        return None
    for index, arg in enumerate(call.args):
        if (arg.keyword is not None and arg.keyword.value == name) or (arg.keyword is None and index == position):
            return arg.value
    return None


def strings(node: cst.BaseExpression | None) -> list[cst.SimpleString]:
    """The string literals of a list or tuple."""
    if not isinstance(node, (cst.List, cst.Tuple)):
        return []
    return [e.value for e in node.elements if isinstance(e.value, cst.SimpleString)]
