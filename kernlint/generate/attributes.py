"""What the methods of a class may let their result depend on: the attributes of ``self`` that they ask for, and of these what the
arguments of the constructor, or a method that was called before, have a say in."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from kernlint.generate.values import CannotGenerate

#: An attribute of an object, of one that it holds and so on; an index that is no literal is ``"*"``.
Path = tuple[str, ...]


def unknown_attribute(module: ast.Module, owner: str, known: Iterable[Path]) -> str | None:
    """What the methods of the class ``owner``, of its bases and of the classes whose objects it may hold ask ``self`` for and what
    is none of the values ``known`` (by their path from the object ``owner``), nor holds one or belongs to one; None where there is
    nothing of the kind. Methods, and what the body of a class says, are known. Raises :class:`CannotGenerate` where ``self`` is
    handed on."""
    values = list(known)
    for family in _families(module, owner):
        own = {name for node in family for name in _stated(node)}
        held = family[0].name != owner
        for path in (path for node in family for path in _read_paths(node) if path[0] not in own):
            starts = range(1, max(map(len, values), default=1)) if held else (0,)
            if not any(_agree(path, value[start:]) for value in values for start in starts if start < len(value)):
                return ".".join(path).replace(".*", "[...]")
    return None


def asked_for(module: ast.Module, owner: str) -> set[str]:
    """The attributes that the methods of ``owner`` and of its bases ask ``self`` for."""
    return {path[0] for node in next(_families(module, owner), []) for path in _read_paths(node)}


def configured(module: ast.Module, owner: str) -> set[str]:
    """The attributes that the methods of ``owner``, or of its bases, give values that are not told by the module alone."""
    found = set[str]()
    for node in next(_families(module, owner), []):
        for method in (one for one in node.body if isinstance(one, ast.FunctionDef)):
            own = {one.arg for one in ast.walk(method) if isinstance(one, ast.arg)} - {"self"}
            own |= {one.id for one in ast.walk(method) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
            for one in ast.walk(method):
                if not isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or one.value is None:
                    continue
                targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                paths = [path for target in targets for path in map(_path, _leaves(target)) if path]
                used = {name.id for name in ast.walk(one.value) if isinstance(name, ast.Name)}
                if used & own or method.name != "__init__":
                    found |= {path[0] for path in paths}
    return found


def _leaves(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [leaf for one in target.elts for leaf in _leaves(one)]
    return [target]


def _families(module: ast.Module, owner: str) -> Iterator[list[ast.ClassDef]]:
    """The class ``owner`` with its bases, and the same of the classes that the constructors of those before name: what they hold."""
    classes = {node.name: node for node in ast.walk(module) if isinstance(node, ast.ClassDef)}
    waiting, done = [owner], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in done or name not in classes:
            continue
        done.add(name)
        family, bases = [], [name]
        while bases:
            node = classes.get(bases.pop(0))
            if node is not None and node not in family:
                family.append(node)
                bases += [base.id for base in node.bases if isinstance(base, ast.Name)]
        yield family
        makers = [
            one for node in family for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"
        ]
        named = (one.id for maker in makers for one in ast.walk(maker) if isinstance(one, ast.Name))
        waiting += [one for one in named if one in classes and classes[one] not in family]


def _stated(node: ast.ClassDef) -> Iterator[str]:
    """The names that the body of a class binds."""
    for one in node.body:
        if isinstance(one, ast.Assign):
            yield from (target.id for target in one.targets if isinstance(target, ast.Name))
        elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield one.name


def _read_paths(node: ast.ClassDef) -> Iterator[Path]:
    for method in node.body:
        if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or method.name == "__init__":
            continue
        inner = {id(one.value) for one in ast.walk(method) if isinstance(one, (ast.Attribute, ast.Subscript))}
        for one in ast.walk(method):
            if not isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)) or id(one) in inner:
                continue
            path = _path(one)
            if path == ():
                raise CannotGenerate(f"`{method.name}` hands `self` on")
            if path is not None:
                yield path


def _path(node: ast.expr) -> Path | None:
    """The path that ``node`` asks ``self`` for; None where it is about something else."""
    if isinstance(node, ast.Name):
        return () if node.id == "self" else None
    if isinstance(node, ast.Attribute):
        owner = _path(node.value)
        return None if owner is None else (*owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner = _path(node.value)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else "*"
        return None if owner is None else (*owner, str(index))
    return None


def _agree(asked: Sequence[str], value: Sequence[str]) -> bool:
    """Whether one path leads along the other."""
    return all(one in ("*", other) for one, other in zip(asked, value))
