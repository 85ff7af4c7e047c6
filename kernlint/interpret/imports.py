"""Finds the file that an import names, next to the file that imports it: kernels call helpers from other modules."""

from __future__ import annotations

from pathlib import Path

from kernlint.errors import SourceError
from kernlint.syntax.source import read_source
from kernlint.syntax.tree import Module, parse_module

#: More modules than this are not followed from one file.
MAX_MODULES = 24


def imported_file(importer: str, package: str, level: int) -> Path | None:
    """The file of module ``package`` as ``importer`` (a path) would import it, ``level`` dots relative; None where it is
    not part of the same source tree."""
    here = Path(importer)
    if not here.is_file():
        return None
    parts = [part for part in package.split(".") if part]
    if level:
        base = here.resolve().parent
        for _ in range(level - 1):
            base = base.parent
        return _module_file(base, parts)
    # An absolute import: from the folder above the outermost package around the importer, or beside a plain script.
    root = here.resolve().parent
    while (root / "__init__.py").is_file() and root.parent != root:
        root = root.parent
    return _module_file(root, parts) if parts else None


def load_module(path: Path) -> Module | None:
    """The parsed module, or None where it does not concern Triton or cannot be read."""
    try:
        source = read_source(str(path))
        return parse_module(source.text, source.path) if "triton" in source.text else None
    except SourceError:
        return None


def _module_file(base: Path, parts: list[str]) -> Path | None:
    target = base.joinpath(*parts)
    for candidate in (target.with_suffix(".py") if parts else target / "__init__.py", target / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
