"""Helpers written out where they are called: jit functions in the kernels, Python functions in the launchers."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
from mutators.trees import Replaced, Transformer, is_constexpr, is_jit, locals_of, replaced, top_functions

from kernlint.syntax.names import bound_by
from kernlint.syntax.walk import walk, walk_until

_SIMPLE = (cst.Name, cst.Attribute, cst.Integer, cst.Float, cst.SimpleString)
#: What may not run its parts, or runs them more than once.
_CONDITIONAL = (cst.Lambda, cst.BooleanOperation, cst.IfExp, cst.BaseComp)


def inlined_jit_helpers(module: cst.Module) -> cst.Module | None:
    """The jit functions that kernels call are parts of the kernels."""
    return _inlined(module, is_jit, is_jit)


def inlined_host_helpers(module: cst.Module) -> cst.Module | None:
    """The Python functions that stand between an entry and its launches are parts of the entry."""
    return _inlined(module, lambda function: not function.decorators, lambda function: not is_jit(function))


def _inlined(
    module: cst.Module, wanted: Callable[[cst.FunctionDef], bool], calls: Callable[[cst.FunctionDef], bool]
) -> cst.Module | None:
    helpers = {f.name.value: f for f in top_functions(module) if wanted(f) and _straight(f)}
    inliner = _Inliner(helpers, calls)
    for _ in range(4 if helpers else 0):  # helpers of helpers
        before = inliner.count
        module = module.visit(inliner)
        if inliner.count == before:
            break
    if not inliner.inlined:
        return None
    used = [node.value for node in walk(module) if isinstance(node, cst.Name)]
    gone = {name for name in inliner.inlined if used.count(name) == 1}
    body = [line for line in module.body if not (isinstance(line, cst.FunctionDef) and line.name.value in gone)]
    return module.with_changes(body=body)


def _straight(function: cst.FunctionDef) -> bool:
    """Whether ``function`` returns at its end alone, or never, and takes plain arguments."""
    params = function.params
    if not isinstance(function.body, cst.IndentedBlock) or params.star_kwarg or params.kwonly_params:
        return False
    if isinstance(params.star_arg, cst.Param):
        return False
    last = function.body.body[-1]
    returns = [n for n in walk(function.body) if isinstance(n, (cst.Return, cst.Yield, cst.FunctionDef, cst.ClassDef))]
    return not returns or (isinstance(last, cst.SimpleStatementLine) and returns == [last.body[-1]])


class _Inliner(Transformer):
    def __init__(self, helpers: dict[str, cst.FunctionDef], calls: Callable[[cst.FunctionDef], bool]) -> None:
        self.helpers = helpers
        self.calls = calls
        self.inlined: set[str] = set()
        self.count = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return self.calls(node)

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body: list[cst.BaseStatement] = []
        for line in updated_node.body:
            body += self._line(line)
        return updated_node.with_changes(body=body)

    def _line(self, line: cst.BaseStatement) -> list[cst.BaseStatement]:
        lines: list[cst.BaseStatement] = []
        while isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
            call = self._call_in(line)
            if call is None:
                break
            before, result = self._expanded(call)
            lines += before
            if result is None:
                return lines
            line = replaced(line, call, result)
        return [*lines, line]

    def _call_in(self, line: cst.SimpleStatementLine) -> cst.Call | None:
        calls = [
            node
            for node in walk_until(line, lambda n: isinstance(n, _CONDITIONAL))
            if isinstance(node, cst.Call)
            and isinstance(node.func, cst.Name)
            and node.func.value in self.helpers
            and not any(arg.star for arg in node.args)
        ]
        # Of nested calls the inner one comes first.
        return calls[-1] if calls else None

    def _expanded(self, call: cst.Call) -> tuple[list[cst.BaseStatement], cst.BaseExpression | None]:
        """The lines of the helper that ``call`` calls, and its result."""
        assert isinstance(call.func, cst.Name)
        helper = self.helpers[call.func.value]
        self.inlined.add(helper.name.value)
        self.count += 1
        rebound = {name.value for node in walk(helper.body) for name in bound_by(node)}
        names: dict[str, cst.BaseExpression] = {
            name: cst.Name(f"{name}_{self.count}") for name in sorted(locals_of(helper))
        }
        lines: list[cst.BaseStatement] = []
        for param, value in self._given(helper, call):
            if isinstance(value, _SIMPLE) and param.name.value not in rebound:
                names[param.name.value] = value
                continue
            target = names[param.name.value]
            assert isinstance(target, cst.Name)
            one: cst.BaseSmallStatement
            if param.annotation is not None and is_constexpr(param.annotation):
                one = cst.AnnAssign(target, param.annotation, value)
            else:
                one = cst.Assign([cst.AssignTarget(target)], value)
            lines.append(cst.SimpleStatementLine([one]))
        result: cst.BaseExpression | None = None
        for line in helper.body.body:
            new = line.visit(Replaced(names))
            assert isinstance(new, cst.BaseStatement)
            if isinstance(new, cst.SimpleStatementLine) and isinstance(new.body[-1], cst.Return):
                result = new.body[-1].value
                lines += [cst.SimpleStatementLine([small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
                          for small in new.body[:-1]]  # fmt: skip
            else:
                lines.append(new)
        if result is not None and not result.lpar and not isinstance(result, _SIMPLE):
            result = result.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return lines, result

    def _given(self, helper: cst.FunctionDef, call: cst.Call) -> list[tuple[cst.Param, cst.BaseExpression]]:
        params = helper.params.params
        values = {p.name.value: p.default for p in params if p.default is not None}
        for position, arg in enumerate(call.args):
            values[arg.keyword.value if arg.keyword is not None else params[position].name.value] = arg.value
        return [(param, values[param.name.value]) for param in params]
