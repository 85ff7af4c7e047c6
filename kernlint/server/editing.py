"""What an editor asks of a document, computed in a worker: from its text to plain data that the server can import cheaply."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernlint.lint.model import Edit, Finding, Place
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.interpret.earlier import Earlier
    from kernlint.lint.check_file import Check
    from kernlint.lint.config import Configurations
    from kernlint.lint.job import Job


@dataclass(frozen=True)
class Asked:
    """Whose settings a question is asked under: those of the file at ``path``, which may lie nowhere, with what the editor says on
    top (a device, selectors of rules). ``generation`` counts the changes of configuration files; ``isolated`` reads none."""

    path: str
    device: str | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    generation: int = 0
    isolated: bool = False


@dataclass(frozen=True)
class Found:
    """The ``findings`` of a document, the absolute paths of the files that they depend on (``beside``), and whether that is all."""

    findings: tuple[Finding, ...]
    beside: tuple[str, ...] = ()
    complete: bool = True


#: The last document of which only what is told at once was found, by its text and what was asked.
_begun: tuple[object, Check] | None = None


def findings_at_once(text: str, asked: Asked) -> Found:
    """Those of :func:`findings` that need no price of another version of the program, and so are there soon. The rest follows where
    :func:`findings` is asked the same."""
    global _begun
    from kernlint.lint.check_file import Check

    job = _job(text, asked, False)
    if job is None:
        return Found(())
    _taken(None)
    check = Check(job, _earlier())
    result, complete = check.at_once()
    _begun = (text, asked), check
    return findings(text, asked) if complete else Found(result.findings, complete=False)


def findings(text: str, asked: Asked, fixes: bool = False, reference: str | None = None) -> Found:
    """What ``kernlint check`` finds in ``text``, nothing where the file is excluded. ``reference`` is the text of the PyTorch code
    that it replaces, where no configuration names a file. Raises ``UsageError`` for a wrong configuration."""
    from kernlint.lint.check_file import Check

    job = _job(text, asked, fixes)
    if job is None:
        return Found(())
    if reference is not None:
        job = replace(job, reference=("reference.py", encoded(reference)))
    begun = None if fixes or reference is not None else _taken((text, asked))
    result = (begun or Check(job, _earlier())).result()
    beside = {path for path, _ in result.helpers}
    if job.settings.reference is not None:
        beside.add(os.path.abspath(job.settings.reference))
    return Found(result.findings, tuple(sorted(beside)))


def _taken(question: object) -> Check | None:
    """What was begun of ``question``; what was begun of another one is of no use any more."""
    global _begun
    begun, _begun = _begun, None
    if begun is not None and begun[0] == question:
        return begun[1]
    if begun is not None:
        begun[1].close()
    return None


def all_fixed(text: str, asked: Asked) -> tuple[Edit, ...]:
    """The edits that make every safe fix of ``text``, as ``kernlint check --fix`` does."""
    from kernlint.lint.check_file import check_file
    from kernlint.lint.fixing import apply_fixes
    from kernlint.lint.run import Outcome
    from kernlint.syntax.source import decode_source

    job = _job(text, asked, True)
    if job is None:
        return ()

    def check(contents: Mapping[str, bytes]) -> Outcome:
        result = check_file(replace(job, data=contents.get(job.shown, job.data)))
        return Outcome(result.findings, {job.shown: job.settings.codes})

    _, fixes = apply_fixes(check, lambda outcome: outcome, lambda _: job.data, unsafe=False)
    changed = fixes.changed.get(job.shown)
    return () if changed is None else edits_between(text, decode_source(changed, asked.path).text)


def suppressed(text: str, asked: Asked, found: Sequence[Finding], reason: str) -> list[tuple[Edit, ...]]:
    """For each of ``found`` the edits that suppress it by a comment with this ``reason``; none where that cannot be done."""
    from kernlint.errors import KernlintError
    from kernlint.lint.add_ignore import with_ignores
    from kernlint.syntax.source import SourceText

    edits: list[tuple[Edit, ...]] = []
    for finding in found:
        try:
            edits.append(edits_between(text, with_ignores(SourceText(text, asked.path), [finding], reason)))
        except KernlintError:
            edits.append(())
    return edits


def rule_page(code: str) -> str:
    """The documentation of a rule as Markdown. Raises ``UsageError`` where there is none of that code or name."""
    from kernlint.lint.diagnostics import DIAGNOSTICS
    from kernlint.rules.docs import to_markdown
    from kernlint.rules.registry import find_rule

    for diagnostic in DIAGNOSTICS:
        if code.strip().lower() in (diagnostic.code.lower(), diagnostic.name):
            return diagnostic.to_markdown()
    return to_markdown(find_rule(code))


def settings_of(asked: Asked) -> dict[str, Any]:
    """The device of the file's settings, whether somebody chose it, and the path of its reference, if it has one."""
    settings = _configurations(asked).of(os.path.dirname(asked.path)).of_file(asked.path)
    return {"device": settings.device, "named": settings.device_named, "reference": settings.reference}


def edits_between(before: str, after: str) -> tuple[Edit, ...]:
    """The edits, of whole lines, that turn one text into the other."""
    from kernlint.rewrite.text import lines_with_ends

    old, new = lines_with_ends(before), lines_with_ends(after)
    edits = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        text = "".join(new[new_start:new_end])
        if end == len(old) and old and old[-1][-1:] not in "\r\n":
            # The last line has no end, so that no line begins behind it.
            if start == end:
                place = Place(end, len(old[-1]) + 1, end, len(old[-1]) + 1)
            else:
                place = Place(start + 1, 1, end, len(old[-1]) + 1)
        else:
            place = Place(start + 1, 1, end + 1, 1)
        edits.append(Edit(place, text))
    return tuple(edits)


def _job(text: str, asked: Asked, fixes: bool) -> Job | None:
    """The question as one for the linter; None where the file is excluded."""
    from kernlint.lint.discovery import is_excluded
    from kernlint.lint.job import Job
    from kernlint.lint.reading import read_bytes

    configurations = _configurations(asked)
    if is_excluded(asked.path, configurations):
        return None
    settings = configurations.of(os.path.dirname(asked.path)).of_file(asked.path)
    reference = None
    if settings.reference is not None:
        reference = (settings.reference, read_bytes(settings.reference))
    return Job(asked.path, encoded(text), settings, reference, fixes)


def _configurations(asked: Asked) -> Configurations:
    said = (asked.device, asked.select, asked.extend_select, asked.ignore)
    return _configurations_of(said, asked.generation, asked.isolated)


@lru_cache(maxsize=1)
def _configurations_of(said: tuple[Any, ...], generation: int, isolated: bool) -> Configurations:
    """The configuration files as they are in this ``generation``: read once for all questions."""
    from kernlint.lint.config import Configurations, Overrides, device_id
    from kernlint.lint.selection import Choice, parse_selector

    device, select, extend_select, ignore = said
    for selector in _all((select or (), extend_select, ignore)):
        parse_selector(selector)
    choice = Choice(select, extend_select, ignore) if select is not None or extend_select or ignore else None
    return Configurations(Overrides(choice=choice, device=device and device_id(device)), isolated=isolated)


@lru_cache(maxsize=1)
def _earlier() -> Earlier:
    """What this process knows of kernels from earlier versions of documents."""
    from kernlint.interpret.earlier import Earlier

    return Earlier()


def _all(groups: Iterable[Iterable[str]]) -> list[str]:
    return [item for group in groups for item in group]


def encoded(text: str) -> bytes:
    """``text`` as the bytes of a file that is read as this text: a coding line counts, as it will where the file is saved.

    An editor may hand over halves of surrogate pairs; a question mark in their place keeps the columns as they are.
    """
    clean = text.encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(clean).readline)
        return text.encode(encoding) if encoding not in ("utf-8", "utf-8-sig") else clean
    except (SyntaxError, LookupError, UnicodeError):
        return clean
