"""Each launch, with what makes up its grid, in a function of its own that takes what the launch needs."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst
from mutators.trees import Transformer, code, free_names, is_jit, kernel_names, launches_in, locals_of


@lru_cache(maxsize=4)  # asked once more for what comes of it
def moved_launches(module: cst.Module) -> cst.Module | None:
    mover = _Mover(kernel_names(module))
    module = module.visit(mover)
    if not mover.helpers:
        return None
    return module.with_changes(body=[*module.body, *mover.helpers])


class _Mover(Transformer):
    def __init__(self, kernels: set[str]) -> None:
        self.kernels = kernels
        self.functions: list[cst.FunctionDef] = []
        self.helpers: list[cst.BaseStatement] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.functions.append(node)
        if is_jit(node) and len(self.functions) > 1:
            # A kernel that is a variable of the function cannot be named elsewhere.
            self.kernels = self.kernels - {node.name.value}
        return not is_jit(node)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.functions.pop()
        return updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        launches = list(launches_in(updated_node, self.kernels))
        if len(self.functions) != 1 or len(launches) != 1 or not isinstance(updated_node.body[0], cst.Expr):
            return updated_node
        names = free_names(updated_node, locals_of(self.functions[0]))
        name = f"_launch_{len(self.helpers)}"
        text = f"\ndef {name}({', '.join(names)}):\n    {code(updated_node.body[0])}\n"
        self.helpers += cst.parse_module(text).body  # type: ignore[arg-type]
        return cst.parse_statement(f"{name}({', '.join(names)})")  # type: ignore[return-value]
