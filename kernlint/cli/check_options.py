"""What the options of `kernlint check` mean."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kernlint.cli.options import NOTE
from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.lint.cache import Cache
    from kernlint.lint.config import Overrides
    from kernlint.lint.selection import Choice


def checked_facts(texts: tuple[str, ...]) -> tuple[str, ...]:
    """``texts``, which are facts. Raises ``UsageError`` where they are none."""
    if texts:
        from kernlint.interpret.assume import parse_facts

        parse_facts(texts)
    return texts


def refuse_together(*cases: tuple[bool, str]) -> None:
    """Raise :class:`UsageError` with the text of the first case that is so."""
    for wrong, text in cases:
        if wrong:
            raise UsageError(text)


def opened_cache(folder: str | None) -> tuple[Cache | None, bool]:
    """The cache in ``folder``, by default that of the project where it is no link, and whether it knows the catalogue of rules,
    which then need not be imported."""
    from kernlint.lint.cache import FOLDER, Cache
    from kernlint.lint.selection import remember

    path = os.path.join(_project_root(), FOLDER)
    if folder is None and os.path.islink(path):  # nobody has said that files are to be written, and removed, there
        return None, False
    cache = Cache(folder or path)
    entries = cache.catalogue()
    if entries is not None:
        remember(entries)
    return cache, entries is not None


def choice_of(select: tuple[str, ...], extend_select: tuple[str, ...], ignore: tuple[str, ...]) -> Choice | None:
    """The rules that the options ask for; None where none of them is given."""
    from kernlint.lint.selection import Choice

    chosen = tuple(split_names(select)) if select else None
    choice = Choice(chosen, tuple(split_names(extend_select)), tuple(split_names(ignore)))
    return choice if select or extend_select or ignore else None


def split_names(values: tuple[str, ...]) -> list[str]:
    """``--select KL1,KL204 --select ALL`` as one list."""
    return [item.strip() for value in values for item in value.split(",") if item.strip()]


def ignores_by_file(values: tuple[str, ...]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    found = []
    for value in values:
        pattern, colon, rules = value.rpartition(":")
        if not colon or not pattern:
            raise UsageError(f"--per-file-ignores {value}: expected PATTERN:RULES, such as tests/**:KL2")
        found.append((os.getcwd(), pattern, tuple(split_names((rules,)))))
    return tuple(found)


def severities_by_rule(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from kernlint.lint.model import SEVERITIES

    found = []
    for value in values:
        rules, equals, level = (part.strip() for part in value.rpartition("="))
        if not equals or level not in SEVERITIES:
            raise UsageError(f"--severity {value}: expected RULES=LEVEL, such as KL101=error")
        found += [(text, level) for text in split_names((rules,))]
    return tuple(found)


def check_overrides(overrides: Overrides) -> None:
    """Complain of unknown rules and patterns that are none before anything is read."""
    import re

    from kernlint.lint.config import is_timeout
    from kernlint.lint.patterns import Patterns
    from kernlint.lint.selection import parse_selector

    choice = overrides.choice
    texts = [] if choice is None else [*(choice.select or ()), *choice.extend_select, *choice.ignore]
    texts += [text for _, _, rules in overrides.per_file_ignores for text in rules]
    for text in [*texts, *(text for text, _ in overrides.severity)]:
        parse_selector(text)
    Patterns(os.getcwd(), [*overrides.extend_exclude, *(pattern for _, pattern, _ in overrides.per_file_ignores)])
    if overrides.target_triton is not None and not re.fullmatch(r"\d+\.\d+(\.\d+)?", overrides.target_triton):
        raise UsageError(f"--target-triton {overrides.target_triton}: expected a version such as 3.6")
    if overrides.target_triton is not None:
        _note_unknown_release(overrides.target_triton)
    if overrides.timeout_s is not None and not is_timeout(overrides.timeout_s):
        raise UsageError(f"--timeout {overrides.timeout_s:g}: expected a positive number of seconds, below a million")


def _note_unknown_release(version: str) -> None:
    """Say which release counts in place of one that is not known."""
    from kernlint.interpret.api import parse_version, supported

    oldest, newest = supported()[0], supported()[-1]
    if not parse_version(oldest) <= parse_version(version) <= parse_version(newest):
        nearest = oldest if parse_version(version) < parse_version(oldest) else newest
        note = f"Triton {version} is not known, from {oldest} to {newest} are; {nearest} is taken"
        click.get_current_context().meta[NOTE] = note


def require_working_folder() -> None:
    try:
        os.getcwd()
    except OSError:
        raise UsageError("the working folder does not exist") from None


def _project_root() -> str:
    """The nearest folder, from the working one up, that looks like the top of a project; else the working one."""
    here = folder = os.getcwd()
    while True:
        if any(os.path.exists(os.path.join(folder, name)) for name in ("kernlint.toml", "pyproject.toml", ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return here
        folder = parent
