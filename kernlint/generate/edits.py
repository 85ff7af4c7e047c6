"""Generated kernels put into a file: in front of the function that launches them, whose body they change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kernlint.generate.values import CannotGenerate
from kernlint.rewrite.text import TextEdit, line_starts
from kernlint.syntax.positions import python_tree

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def edits(text: str, entry: str, kernels: Sequence[str], body: Sequence[str]) -> list[TextEdit]:
    """``text``, a module, with ``kernels`` (sources of functions) and with ``body`` (lines) as what ``entry`` does; kernels that
    nothing uses any more go. Raises :class:`CannotGenerate`."""
    tree = python_tree(text)
    if tree is None:
        raise CannotGenerate("the running Python does not take its file")
    starts = line_starts(text)
    top, function = _found(tree, entry)
    first = function.body[0]
    docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    kept = function.body[:1] if docstring else []
    if docstring and len(function.body) == 1:
        raise CannotGenerate(f"`{entry}` does nothing")
    begin = (kept[0].end_lineno if kept else _head_end(text, function)) or 0
    indent = " " * function.body[0].col_offset
    if begin >= function.body[len(kept)].lineno:
        raise CannotGenerate(f"`{entry}` is written on one line")
    lines = "".join(f"{indent}{line}\n" if line else "\n" for line in body)
    end = function.end_lineno or 0
    made = [TextEdit(starts[begin], _offset(text, starts, end), lines)]
    made += _imports(tree, top, starts, text)
    place = starts[_first_line(top) - 1]
    made.append(TextEdit(place, place, "".join(f"{kernel}\n\n\n" for kernel in kernels)))
    for node in _unused(tree, function, body):
        stop = _offset(text, starts, node.end_lineno or 0)
        while stop < len(text) and text[stop] in "\r\n":
            stop += 1
        made.append(TextEdit(starts[_first_line(node) - 1], stop, ""))
    return made


#: What generated code is written with.
_IMPORTED = {"torch": "import torch", "triton": "import triton", "tl": "import triton.language as tl"}


def _imports(tree: ast.Module, before: ast.stmt, starts: Sequence[int], text: str) -> list[TextEdit]:
    """The imports that generated code needs and the module does not have ``before`` it, behind the last one there."""
    above = [top for top in tree.body if top.lineno < before.lineno]
    imports = [top for top in above if isinstance(top, (ast.Import, ast.ImportFrom))]
    bound = {alias.asname or alias.name for top in imports for alias in top.names}
    missing = [line for name, line in _IMPORTED.items() if name not in bound]
    if not missing or not imports:
        return []
    place = _offset(text, starts, imports[-1].end_lineno or 0)
    return [TextEdit(place, place, "".join(f"{line}\n" for line in missing))]


def _offset(text: str, starts: Sequence[int], line: int) -> int:
    """Where the line after number ``line`` (from 1) begins."""
    return starts[line] if line < len(starts) else len(text)


def _head_end(text: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line that the signature ends on: the one before the first statement, but for comments and blank lines."""
    line = function.body[0].lineno - 1
    lines = text.splitlines()
    while line > function.lineno and (not lines[line - 1].strip() or lines[line - 1].lstrip().startswith("#")):
        line -= 1
    return line


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _found(tree: ast.Module, entry: str) -> tuple[ast.stmt, ast.FunctionDef | ast.AsyncFunctionDef]:
    owner, _, name = entry.rpartition(".")
    for top in tree.body:
        if not owner and isinstance(top, _Function) and top.name == name:
            return top, top
        if isinstance(top, ast.ClassDef) and top.name == owner:
            for inner in top.body:
                if isinstance(inner, _Function) and inner.name == name:
                    return top, inner
    raise CannotGenerate(f"`{entry}` is not written out in this file")


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isidentifier():
            yield inner.value  # __all__, getattr


def _unused(tree: ast.Module, changed: ast.AST, body: Sequence[str]) -> list[ast.stmt]:
    """Kernels that only the old body of ``changed`` used, and functions that launched nothing but them."""
    functions = {top.name: top for top in tree.body if isinstance(top, _Function)}
    before = {name for name in _names(changed) if name in functions}
    reached, waiting = set(before), list(before)
    while waiting:
        for name in _names(functions[waiting.pop()]):
            if name in functions and name not in reached:
                reached.add(name)
                waiting.append(name)
    candidates = {name for name in reached if _is_kernel(functions[name]) or name.startswith("_")}
    text = set(_names(ast.parse("def f():\n" + "\n".join(f"    {line}" for line in body))))
    while True:
        rest = list(_outside(tree, changed, {functions[name] for name in candidates}))
        used = {name for node in rest for name in _names(node)} | text
        dead = {name for name in candidates if name not in used}
        if dead == candidates:
            return [functions[name] for name in sorted(dead)]
        candidates = dead


def _outside(tree: ast.Module, changed: ast.AST, without: set[ast.AST]) -> Iterator[ast.AST]:
    for top in tree.body:
        if top in without or top is changed:
            continue
        if isinstance(top, ast.ClassDef) and any(inner is changed for inner in top.body):
            yield from (inner for inner in (*top.body, *top.bases, *top.decorator_list) if inner is not changed)
        else:
            yield top


def _is_kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("jit" in _names(one) for one in node.decorator_list)
