"""Numbers that are constants of the module instead: those of launches, and those that kernels calculate with."""

from __future__ import annotations

import libcst as cst
from mutators.trees import Transformer, after_imports, is_jit, is_launch, kernel_names, statements


def named_launch_literals(module: cst.Module) -> cst.Module | None:
    """The numbers that a launch passes or divides by are constants of the module."""
    naming = _Naming(kernel_names(module))
    return naming.made(module, "{name} = {text}")


def named_kernel_literals(module: cst.Module) -> cst.Module | None:
    """The numbers that kernels multiply by and add are ``tl.constexpr`` constants of the module."""
    naming = _KernelNaming(kernel_names(module))
    return naming.made(module, "{name} = tl.constexpr({text})")


class _Naming(Transformer):
    """Names the numbers in launches."""

    def __init__(self, kernels: set[str]) -> None:
        self.kernels = kernels
        self.inside = 0
        self.constants: list[tuple[str, str]] = []

    def made(self, module: cst.Module, line: str) -> cst.Module | None:
        module = module.visit(self)
        if not self.constants:
            return None
        return after_imports(
            module, [one for name, text in self.constants for one in statements(line.format(name=name, text=text))]
        )

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return not is_jit(node)

    def visit_Call(self, node: cst.Call) -> None:
        self.inside += is_launch(node, self.kernels)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        self.inside -= is_launch(original_node, self.kernels)
        return updated_node

    def leave_Integer(self, original_node: cst.Integer, updated_node: cst.Integer) -> cst.BaseExpression:
        return self._named(updated_node) if self.inside and original_node.evaluated_value > 1 else updated_node

    def _named(self, node: cst.Integer | cst.Float) -> cst.Name:
        name = f"NUMBER_{len(self.constants)}"
        self.constants.append((name, node.value))
        return cst.Name(name)


class _KernelNaming(_Naming):
    """Names the numbers that are operands in kernels."""

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.inside += is_jit(node)
        return True

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.inside -= is_jit(original_node)
        return updated_node

    def visit_Call(self, node: cst.Call) -> None: ...

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        return updated_node

    def leave_Integer(self, original_node: cst.Integer, updated_node: cst.Integer) -> cst.BaseExpression:
        return updated_node

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        for side in ("left", "right"):
            value = getattr(updated_node, side)
            if self.inside and isinstance(value, (cst.Integer, cst.Float)):
                updated_node = updated_node.with_changes(**{side: self._named(value)})
        return updated_node
