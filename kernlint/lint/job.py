"""One file to check, and what is found in it."""

from __future__ import annotations

from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings
from kernlint.records import dataclass


@dataclass(frozen=True)
class Job:
    """One file to check: the name ``shown`` for it, its bytes, its settings, and the name and bytes of its reference.
    ``fixes`` asks for the automatic fixes of what is found, which takes about as long again."""

    shown: str
    data: bytes
    settings: FileSettings
    reference: tuple[str, bytes] | None = None
    fixes: bool = False


@dataclass(frozen=True)
class Result:
    """The findings of a file; ``repeatable`` where another run would surely find the same, as long as the modules that
    it takes helpers from (``helpers``: path and :func:`~kernlint.lint.known_files.digest_of`) stay as they are. ``undecided`` are
    the functions of which rules about speed could say nothing, as what their launches take is open."""

    findings: tuple[Finding, ...]
    repeatable: bool = True
    helpers: tuple[tuple[str, str], ...] = ()
    undecided: tuple[str, ...] = ()
