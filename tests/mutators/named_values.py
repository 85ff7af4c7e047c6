"""Values of kernels with names of their own, and without: addresses and masks as variables, variables written out."""

from __future__ import annotations

import libcst as cst
from mutators.trees import Transformer, grouped, is_jit, kernels, locals_of, replaced

from kernlint.syntax.names import bound_by, dotted_name, variables
from kernlint.syntax.walk import walk

_ACCESSES = ("tl.load", "tl.store", "tl.atomic_add")


def named_addresses(module: cst.Module) -> cst.Module | None:
    """The address and the mask of an access are variables."""
    naming = _Addresses()
    new = module.visit(naming)
    return new if naming.count else None


class _Addresses(Transformer):
    def __init__(self) -> None:
        self.count = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return is_jit(node)

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body: list[cst.BaseStatement] = []
        for line in updated_node.body:
            while isinstance(line, cst.SimpleStatementLine):
                value = _first_value(line)
                if value is None:
                    break
                name = cst.Name(f"value_{self.count}")
                self.count += 1
                body.append(cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(name)], value)]))
                line = replaced(line, value, name)
            body.append(line)
        return updated_node.with_changes(body=body)


def _first_value(line: cst.SimpleStatementLine) -> cst.BaseExpression | None:
    """The first address or mask in ``line`` that is no variable; of nested ones the inner."""
    found = None
    for node in walk(line):
        if isinstance(node, cst.Lambda):
            return None
        if isinstance(node, cst.Call) and dotted_name(node.func) in _ACCESSES:
            for position, arg in enumerate(node.args):
                mask = arg.keyword is not None and arg.keyword.value == "mask"
                if (mask or position == 0) and isinstance(arg.value, (cst.BinaryOperation, cst.Comparison)):
                    found = arg.value
    return found


def inlined_variables(module: cst.Module) -> cst.Module | None:
    """Variables of a kernel that are given one value and used once stand there themselves."""
    count = 0
    for kernel in kernels(module):
        new, changed = _without_variables(kernel)
        count += changed
        module = replaced(module, kernel, new)
    return module if count else None


def _without_variables(kernel: cst.FunctionDef) -> tuple[cst.FunctionDef, int]:
    count = 0
    params = {param.name.value for param in kernel.params.params}
    while True:
        bound = [name.value for node in walk(kernel.body) for name in bound_by(node)]
        read = [name.value for name in variables(kernel.body)]
        for name in sorted(locals_of(kernel) - params):
            if bound.count(name) == 1 and read.count(name) == 2:
                new = _moved_into_next(kernel, name)
                if new is not None:
                    kernel, count = new, count + 1
                    break
        else:
            return kernel, count


def _moved_into_next(kernel: cst.FunctionDef, name: str) -> cst.FunctionDef | None:
    """``kernel`` with the value of ``name`` in the line behind the one that gives it, where that one reads it."""
    for block in walk(kernel):
        if not isinstance(block, cst.IndentedBlock):
            continue
        for line, following in zip(block.body, block.body[1:]):
            value = _value_of(line, name)
            if value is None or not isinstance(following, cst.SimpleStatementLine):
                continue
            for use in variables(following):
                if use.value == name:
                    moved = replaced(following, use, grouped(value))
                    body = [moved if one is following else one for one in block.body if one is not line]
                    return replaced(kernel, block, block.with_changes(body=body))
    return None


def _value_of(line: cst.CSTNode, name: str) -> cst.BaseExpression | None:
    statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    return statement.value if isinstance(target, cst.Name) and target.value == name else None
