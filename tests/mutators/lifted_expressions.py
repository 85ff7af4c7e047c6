"""What a kernel computes, moved out into jit functions: each value that a line gives to a variable, or the whole body."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst
from mutators.trees import Transformer, code, constexprs, free_names, is_jit, kernels, locals_of

from kernlint.syntax.walk import walk


@lru_cache(maxsize=4)  # asked once more for what comes of it
def lifted_expressions(module: cst.Module) -> cst.Module | None:
    """Each assigned value of a kernel is the result of a jit function of its own."""
    changed = False
    body: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    for line in module.body:
        if isinstance(line, cst.FunctionDef) and is_jit(line):
            lifter = _Lifter(line)
            new = line.visit(lifter)
            changed = changed or bool(lifter.helpers)
            body += [*lifter.helpers, new]  # type: ignore[list-item]
        else:
            body.append(line)
    return module.with_changes(body=body) if changed else None


class _Lifter(Transformer):
    def __init__(self, kernel: cst.FunctionDef) -> None:
        self.kernel = kernel
        self.locals = locals_of(kernel)
        self.constexprs = constexprs(kernel)
        self.helpers: list[cst.BaseStatement] = []

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        value = updated_node.value
        if isinstance(value, cst.Tuple):
            elements = [element.with_changes(value=self._lifted(element.value)) for element in value.elements]
            return updated_node.with_changes(value=value.with_changes(elements=elements))
        return updated_node.with_changes(value=self._lifted(value))

    def _lifted(self, value: cst.BaseExpression) -> cst.BaseExpression:
        if not isinstance(value, (cst.BinaryOperation, cst.Call, cst.Comparison, cst.Subscript)):
            return value
        if any(isinstance(node, (cst.Lambda, cst.BaseComp)) for node in walk(value)):
            return value
        names = free_names(value, self.locals)
        name = f"{self.kernel.name.value}_part_{len(self.helpers)}"
        params = ", ".join(f"{one}: tl.constexpr" if one in self.constexprs else one for one in names)
        text = f"\n@triton.jit\ndef {name}({params}):\n    return {code(value)}\n"
        self.helpers += cst.parse_module(text).body  # type: ignore[arg-type]
        return cst.parse_expression(f"{name}({', '.join(names)})")


def wrapped_bodies(module: cst.Module) -> cst.Module | None:
    """Each kernel only calls a jit function that does the work."""
    found = kernels(module)
    body: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    launched = {
        node.func.value.value
        for node in walk(module)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Subscript) and isinstance(node.func.value, cst.Name)
    }
    if not any(kernel.name.value in launched for kernel in found):
        return None
    for line in module.body:
        if not (isinstance(line, cst.FunctionDef) and line in found and line.name.value in launched):
            body.append(line)
            continue
        name = f"{line.name.value}_work"
        names = [param.name.value for param in line.params.params]
        jit = cst.Decorator(cst.parse_expression("triton.jit"))
        call = cst.parse_statement(f"{name}({', '.join(names)})")
        params = line.params.with_changes(
            params=[p.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT) for p in line.params.params]
        )
        body.append(line.with_changes(name=cst.Name(name), decorators=[jit], params=params))
        body.append(line.with_changes(body=cst.IndentedBlock([call])))
    return module.with_changes(body=body)
