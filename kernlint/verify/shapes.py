"""Sizes to try: those given, smaller where they would take too long, and odd ones that tiles do not divide."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

from kernlint.records import dataclass

#: Larger blocks only make odd sizes slow; a tail is a tail.
_LARGEST_BLOCK = 128
_LEAST_BLOCK = 16


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
