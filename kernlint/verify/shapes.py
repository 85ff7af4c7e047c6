"""Sizes to try: those given, smaller where they would take too long, and odd ones that tiles do not divide."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

from kernlint.interpret.question import Fact
from kernlint.records import dataclass, replace

#: Larger blocks only make odd sizes slow; a tail is a tail.
_LARGEST_BLOCK = 128
_LEAST_BLOCK = 16


#: A literal below this is no size that anybody would scale down.
_LEAST_LITERAL = 16
_MOST_LITERALS = 6
#: What makes tensors of the shape that its arguments give.
_MAKERS = frozenset("randn rand empty zeros ones full randint tensor normal arange randperm".split())


@dataclass(frozen=True)
class SizeCase:
    """``sizes`` are the module-level constants to set; ``timed`` says that this is what a user would time."""

    name: str
    sizes: Mapping[str, int]
    timed: bool = False


def varied_names(source: str) -> list[str]:
    """The module-level integers, written as literals, that ``get_inputs`` and ``get_init_inputs`` of ``source`` depend on."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
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
    found: list[str] = []
    seen: set[str] = set()
    while wanted:
        name = wanted.pop(0)
        if name in seen or name not in bound:
            continue
        seen.add(name)
        value = bound[name]
        if isinstance(value, ast.Constant) and type(value.value) is int:
            found.append(name)
        else:
            wanted += _names(value)
    return found


def lifted(source: str, prefix: str = "SIZE_") -> tuple[str, dict[str, int]]:
    """``source`` with the sizes that are written as literals in ``get_inputs`` and ``get_init_inputs`` as module-level
    constants, and these by name. Equal literals are one constant: what has to agree goes on agreeing.

    A size is an integer in the shape of a tensor that is made, one that a local name is bound to, or one among the arguments
    of the model. Lines stay where they are.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return source, {}
    found: list[tuple[ast.expr, int]] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in ("get_inputs", "get_init_inputs"):
            for node in ast.walk(ast.Module(statement.body, [])):
                for place in _places(node, statement.name == "get_init_inputs"):
                    found += [(place, value)] if (value := _integer(place)) is not None else []
    values = sorted({value for _, value in found if value >= _LEAST_LITERAL}, reverse=True)[:_MOST_LITERALS]
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


def assumed_sizes(facts: Iterable[Fact]) -> dict[str, int]:
    """The extents of the shapes among ``facts`` by a name for each; equal ones are one size."""
    extents = {extent for fact in facts for extent in fact.shape or () if extent is not None}
    kept = sorted((e for e in extents if e >= _LEAST_LITERAL), reverse=True)[:_MOST_LITERALS]
    return {f"SIZE_{extent}": extent for extent in sorted(kept)}


def resized(fact: Fact, sizes: Mapping[int, int]) -> Fact:
    """``fact`` with each extent, and each value that is one, as ``sizes`` has it."""
    shape = None if fact.shape is None else tuple(e if e is None else sizes.get(e, e) for e in fact.shape)
    number = fact.is_value and isinstance(fact.value, int) and not isinstance(fact.value, bool)
    value = sizes.get(fact.value, fact.value) if number else fact.value
    return replace(fact, shape=shape, value=value, size=None if fact.size is None else sizes.get(fact.size, fact.size))


def _names(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def scaled(
    sizes: Mapping[str, int], affordable: Callable[[Mapping[str, int]], bool], least: int = 16
) -> dict[str, int]:
    """``sizes`` with the largest halved, again and again, until they are ``affordable`` or none is above ``least``. What
    was a multiple of 16 stays one, so that the same path of the kernel is taken."""
    now = dict(sizes)
    while not affordable(now):
        name = max(now, key=lambda n: now[n], default=None)
        if name is None or now[name] <= least:
            break
        half = now[name] // 2
        now[name] = max(least, half - half % 16 if half >= 16 and now[name] % 16 == 0 else half)
    return now


def odd_cases(small: Mapping[str, int], blocks: Iterable[int]) -> list[SizeCase]:
    """Cases around the tiles: all sizes odd at once; each one just above a tile, within a tile, and 1, the others ``small``.

    ``small`` are sizes that cost little; ``blocks`` the extents of tiles.
    """
    usable = [b for b in blocks if _LEAST_BLOCK <= b <= _LARGEST_BLOCK]
    block = max(usable, default=32)
    base = {name: min(value, block) for name, value in small.items()}
    cases = [SizeCase("all odd", {name: _odd(value, block, i) for i, (name, value) in enumerate(base.items())})]
    for index, (name, value) in enumerate(base.items()):
        if value >= _LEAST_BLOCK:
            cases.append(SizeCase(f"{name} above a tile", {**base, name: block + 3 + 2 * index}))
        if value > 4:
            cases.append(SizeCase(f"{name} below a tile", {**base, name: max(3, value // 2 - 1)}))
        if value > 1:
            cases.append(SizeCase(f"{name} = 1", {**base, name: 1}))
    unique: dict[tuple[tuple[str, int], ...], SizeCase] = {}
    for case in cases:
        unique.setdefault(tuple(case.sizes.items()), case)
    return list(unique.values())


def _odd(value: int, block: int, index: int) -> int:
    """A size near ``value`` that no tile divides, another one for each ``index``."""
    if value >= block:
        return block + 3 + 2 * index
    if value <= 2:
        return value
    return value - 1 if value % 2 == 0 else value - 2
