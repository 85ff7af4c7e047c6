"""The sizes that a program's arguments are made from, and where its source has them."""

from __future__ import annotations

import ast

from kernlint.syntax.positions import python_tree

#: A literal below this is no size that anybody would scale.
LEAST_LITERAL = 16
MOST_LITERALS = 6
#: What makes tensors of the shape that its arguments give.
_MAKERS = frozenset("randn rand empty zeros ones full randint tensor normal arange randperm".split())


def varied_names(source: str) -> dict[str, int]:
    """The module-level integers, written as literals, that ``get_inputs`` and ``get_init_inputs`` of ``source`` depend on, by name."""
    tree = python_tree(source)
    if tree is None:
        return {}
    bound: dict[str, ast.expr] = {}
    wanted: list[str] = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name):
                bound[target.id] = value
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                bound |= {t.id: v for t, v in zip(target.elts, value.elts) if isinstance(t, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            bound[statement.target.id] = statement.value
        elif isinstance(statement, ast.FunctionDef) and statement.name in ("get_inputs", "get_init_inputs"):
            wanted += _names(statement)
    found: dict[str, int] = {}
    seen: set[str] = set()
    while wanted:
        name = wanted.pop(0)
        if name in seen or name not in bound:
            continue
        seen.add(name)
        value = bound[name]
        if isinstance(value, ast.Constant) and type(value.value) is int:
            found[name] = value.value
        else:
            wanted += _names(value)
    return found


def lifted(source: str, prefix: str = "SIZE_") -> tuple[str, dict[str, int]]:
    """``source`` with the sizes that are written as literals in ``get_inputs`` and ``get_init_inputs`` as module-level
    constants, and these by name. Equal literals are one constant: what has to agree goes on agreeing.

    A size is an integer in the shape of a tensor that is made, one that a local name is bound to, or one among the arguments
    of the model. Lines stay where they are.
    """
    tree = python_tree(source)
    if tree is None:
        return source, {}
    found: list[tuple[ast.expr, int]] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in ("get_inputs", "get_init_inputs"):
            for node in ast.walk(ast.Module(statement.body, [])):
                for place in _places(node, statement.name == "get_init_inputs"):
                    found += [(place, value)] if (value := _integer(place)) is not None else []
    values = sorted({value for _, value in found if value >= LEAST_LITERAL}, reverse=True)[:MOST_LITERALS]
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = {value: _fresh(f"{prefix}{value}", taken) for value in sorted(values)}
    lines = source.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    edits = {(n.lineno, n.col_offset, n.end_lineno, n.end_col_offset): names[v] for n, v in found if v in names}
    for (row, start, last, end), name in sorted(edits.items(), reverse=True):
        if row == last and end is not None:
            line = lines[row - 1]
            lines[row - 1] = line[:start] + name.encode() + line[end:]
    if not edits:
        return source, {}
    text = b"".join(lines).decode("utf-8", "surrogatepass")
    text += "" if text.endswith("\n") else "\n"
    return text + "".join(f"{name} = {value}\n" for value, name in names.items()), {n: v for v, n in names.items()}


def _places(node: ast.AST, arguments: bool) -> list[ast.expr]:
    """Where ``node`` holds sizes: shapes of tensors, values of names; in a function that gives ``arguments``, those."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in _MAKERS:
            return []
        shapes = [k.value for k in node.keywords if k.arg == "size"]
        given: list[ast.expr] = [*node.args, *shapes]
        if name in ("randint", "full", "normal", "tensor"):
            # The other numbers are values.
            groups: list[ast.expr] = [one for one in given if isinstance(one, (ast.Tuple, ast.List))]
            given = [] if name == "tensor" else groups[-1:]
        return [inner for one in given for inner in _elements(one)]
    if isinstance(node, ast.Assign) and all(isinstance(t, (ast.Name, ast.Tuple)) for t in node.targets):
        return _elements(node.value)
    if arguments and isinstance(node, ast.Return) and node.value is not None:
        return _elements(node.value)
    return []


def _elements(node: ast.expr) -> list[ast.expr]:
    return [e for one in node.elts for e in _elements(one)] if isinstance(node, (ast.Tuple, ast.List)) else [node]


def _integer(node: ast.expr) -> int | None:
    """The integer that ``node``, made of literals alone, is."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _integer(node.left), _integer(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.LShift):
        return left << right if 0 <= right < 64 else None
    if isinstance(node.op, ast.Pow):
        return left**right if 0 <= right < 64 and abs(left) <= 1024 else None
    if isinstance(node.op, ast.FloorDiv):
        return left // right if right else None
    kinds = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
    return kinds.get(type(node.op))


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _names(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
