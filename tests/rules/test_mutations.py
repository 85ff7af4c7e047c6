"""Rules follow values: a rule's example written another way is found all the same, and its remedy stays clean.

Each rewriting keeps the meaning of a program and changes its looks: names, comments, imports, how a launch passes its
arguments, whether a helper stands around it. Names and launches are two things, so that a program has one change of each.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Callable

import pytest
from support.products import product

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules
from kernlint.syntax.tree import parse_module

RULES = [rule for rule in all_rules() if rule.category not in ("correctness", "portability")]

#: Names that frameworks call, and keywords that are theirs.
FIXED = frozenset(
    "self ctx ModelNew Model forward backward get_inputs get_init_inputs Module __init__ device dtype dim axis mask other "
    "num_warps num_stages range meta".split()
)


def found(rule: Rule, source: str) -> bool:
    """Whether ``rule`` finds anything in ``source``."""
    gpu = find_device("h100-sxm")
    program = Program(parse_module(source, "example.py"), None, Question(host=host_facts(gpu)))
    for workload in [*program.workloads(), *(program.bare_kernels() if rule.bare else ())]:
        if list(Context(program, rule.concerns(workload), gpu, price=lambda w: estimate(w, gpu)).ask(rule)):
            return True
    return False


def tokens(source: str, change: Callable[[list[tokenize.TokenInfo], int], str | None]) -> str:
    """``source`` with the text of each token replaced by ``change(tokens, index)`` where that is not None."""
    lines = source.splitlines(keepends=True)
    stream = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for index in reversed(range(len(stream))):
        new = change(stream, index)
        if new is not None:
            (row, start), (_, end) = stream[index].start, stream[index].end
            lines[row - 1] = lines[row - 1][:start] + new + lines[row - 1][end:]
    return "".join(lines)


def bound(source: str) -> set[str]:
    """The names that the program itself binds: functions, parameters and variables."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names - FIXED


def renamed(source: str) -> str:
    """Every name that the program binds is another one, in strings that name arguments too."""
    names = bound(source)

    def change(stream: list[tokenize.TokenInfo], index: int) -> str | None:
        token = stream[index]
        if token.type == tokenize.NAME and token.string in names:
            return None if stream[index - 1].string == "." else f"{token.string}_zz"
        if token.type == tokenize.STRING and token.string.strip("\"'") in names:
            quote = token.string[0]
            return f"{quote}{token.string.strip(quote)}_zz{quote}"
        return None

    return tokens(source, change)


def aliased(source: str) -> str:
    """torch, triton and triton.language under other names."""
    others = {"tl": "lang", "triton": "tr", "torch": "th"}

    def change(stream: list[tokenize.TokenInfo], index: int) -> str | None:
        token = stream[index]
        if token.type == tokenize.NAME and token.string in others and stream[index - 1].string != ".":
            return others[token.string]
        return None

    body = "\n".join(line for line in source.splitlines() if not line.startswith(("import ", "from "))) + "\n"
    kept = "\n".join(x for x in source.splitlines() if x.startswith("from triton.tools") or x == "import functools")
    return f"import torch as th\nimport triton as tr\nfrom triton import language as lang\n{kept}\n" + tokens(
        body, change
    )


def commented(source: str) -> str:
    """A comment behind every line that ends a statement."""

    def change(stream: list[tokenize.TokenInfo], index: int) -> str | None:
        return "  # int8 [M, K], already contiguous, do not touch\n" if stream[index].type == tokenize.NEWLINE else None

    return tokens(source, change)


class _Launches(ast.NodeTransformer):
    """Rewrites each ``kernel[grid](...)`` by ``change(call, parameters of the kernel)``."""

    def __init__(self, tree: ast.Module, change: Callable[[ast.Call, list[str]], ast.expr]) -> None:
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        self.parameters = {f.name: [a.arg for a in f.args.args] for f in functions if f.decorator_list}
        self.change = change

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Subscript) and isinstance(function.value, ast.Name):
            names = self.parameters.get(function.value.id)
            if names is not None and not any(isinstance(a, ast.Starred) for a in node.args):
                return self.change(node, names)
        return node


def launches(source: str, change: Callable[[ast.Call, list[str]], ast.expr], before: str = "") -> str:
    tree = ast.parse(source)
    text = ast.unparse(_Launches(tree, change).visit(tree))
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line and not line.startswith(("import ", "from ")))
    return "\n".join([*lines[:first], before, *lines[first:]]) + "\n"


def keyword_launch(source: str) -> str:
    """Every argument of a launch by keyword."""

    def change(call: ast.Call, names: list[str]) -> ast.expr:
        given = [ast.keyword(name, value) for name, value in zip(names, call.args)]
        return ast.Call(call.func, [], [*given, *call.keywords])

    return launches(source, change)


def config_launch(source: str) -> str:
    """The keywords of a launch from a dictionary."""

    def change(call: ast.Call, names: list[str]) -> ast.expr:
        keys: list[ast.expr | None] = [ast.Constant(k.arg) for k in call.keywords if k.arg is not None]
        values = [k.value for k in call.keywords if k.arg is not None]
        rest = [k for k in call.keywords if k.arg is None]
        return ast.Call(call.func, call.args, [*rest, ast.keyword(None, ast.Dict(keys, values))]) if keys else call

    return launches(source, change)


def helper_launch(source: str) -> str:
    """Launches behind a helper that takes kernel, grid and arguments."""

    def change(call: ast.Call, names: list[str]) -> ast.expr:
        assert isinstance(call.func, ast.Subscript)
        return ast.Call(
            ast.Name("start_kernel", ast.Load()), [call.func.value, call.func.slice, *call.args], call.keywords
        )

    helper = "def start_kernel(kernel, grid, *args, **kwargs):\n    return kernel[grid](*args, **kwargs)\n\n"
    return launches(source, change, helper)


#: Taken together where none hides what another one does: each program has other looks all over, or a launch in another form.
MUTATIONS = ((renamed, keyword_launch), (aliased, config_launch), (helper_launch, commented))


@pytest.mark.parametrize(
    ("rule", "mutations"),
    product(RULES, MUTATIONS, lambda rule: rule.code, lambda mutations: "+".join(one.__name__ for one in mutations)),
)
def test_another_way_to_write_it(rule: Rule, mutations: tuple[Callable[[str], str], ...]) -> None:
    bad, good = (textwrap.dedent(text).lstrip("\n") for text in (rule.bad, rule.good))
    for mutation in mutations:
        bad, good = mutation(bad), mutation(good)
    written = " and ".join(mutation.__name__ for mutation in mutations)
    assert found(rule, bad), f"{rule.code} does not find its bad example {written}"
    assert not found(rule, good), f"{rule.code} fires on its good example {written}"
