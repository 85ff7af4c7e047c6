"""An open document and what is known of it: each question is asked once for a version, and given up with it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from lsprotocol import types
from pygls import uris

from kernlint.lint.model import Finding, Place
from kernlint.lint.reading import concerns_us
from kernlint.server.editing import Asked, Found, all_fixed, findings, findings_at_once, suppressed
from kernlint.server.notes import KernelNote, kernel_notes
from kernlint.server.positions import Positions
from kernlint.server.worker import Lane

_T = TypeVar("_T")

#: What an edit is to be answered in, and what a whole `fix-all` may take, in seconds of the processor.
TIMEOUT_S = 60.0
FIXING_TIMEOUT_S = 300.0

#: Seconds in which an edit is answered, with what is found by then.
SOON_S = 0.1

_SUFFIXES = frozenset({".py", ".pyi", ".md", ".markdown"})
_SUFFIX_OF_LANGUAGE = {"python": ".py", "markdown": ".md"}


class Superseded(Exception):
    """The document, or the configuration, has changed since the question was asked."""


class Document:
    """One version after the other of a document; ``fast`` is the lane for what every edit asks, ``slow`` that for what may take
    longer."""

    def __init__(self, uri: str, path: str, fast: Lane, slow: Lane) -> None:
        self.uri = uri
        self.path = path
        self.text = ""
        self.version: int | None = None
        self.asked = Asked(self.path)
        self.beside: tuple[str, ...] = ()
        #: Whether somebody waits for what is not told at once of this version.
        self.followed = False
        self._fast, self._slow = fast, slow
        self._answers: dict[str, asyncio.Task[Any]] = {}
        self._waiting: dict[str, int] = {}

    def update(self, text: str, version: int | None, asked: Asked) -> None:
        """Take over a new version, or new settings; questions about the old ones end in :class:`Superseded`."""
        self.text, self.version, self.asked = text, version, asked
        self.forget()

    def forget(self) -> None:
        """Give up what is asked and forget what is known."""
        for task in self._answers.values():
            task.cancel()
        self._answers.clear()
        self._waiting.clear()
        self.followed = False

    @property
    def concerns_us(self) -> bool:
        """Whether it can hold a kernel, or a comment for us, in a language that is read."""
        return PurePath(self.path).suffix.lower() in _SUFFIXES and concerns_us(self.text.encode("utf-8", "replace"))

    def positions(self, encoding: str) -> Positions:
        return Positions(self.text, encoding)

    async def so_far(self) -> Found:
        """What is found in it, as far as it is known already or told at once. Raises as :meth:`findings` does."""

        async def ask() -> Found:
            found: Found = await self._fast.ask(findings_at_once, {"text": self.text, "asked": self.asked}, TIMEOUT_S)
            if found.complete:
                self.beside = found.beside
            return found

        whole = self._answers.get("findings")
        if whole is not None and whole.done():
            return Found(await self.findings())
        return await self._once("at once", ask) if self.concerns_us else Found(())

    async def soon(self) -> tuple[Finding, ...]:
        """What is found in it within ``SOON_S``, at least what is told at once: so that an edit which changes little has nothing come
        and go. The rest is worked on then."""
        end = time.monotonic() + SOON_S
        first = await self.so_far()
        if first.complete:
            return first.findings
        rest = asyncio.ensure_future(self.findings())
        rest.add_done_callback(lambda task: task.cancelled() or task.exception())  # which others are told
        try:
            await asyncio.wait({rest}, timeout=max(0.0, end - time.monotonic()))
        except asyncio.CancelledError:
            rest.cancel()
            raise
        return await rest if rest.done() else first.findings

    async def findings(self) -> tuple[Finding, ...]:
        """All that is found in it. Raises ``KernlintError`` for a wrong configuration and where the analysis came to no end."""

        async def ask() -> tuple[Finding, ...]:
            found = await self.so_far()
            if not found.complete:
                question = {"text": self.text, "asked": self.asked}
                found = await self._fast.ask(findings, question, TIMEOUT_S, patient=True)
                self.beside = found.beside
            return found.findings

        return await self._once("findings", ask) if self.concerns_us else ()

    async def fixable(self) -> tuple[Finding, ...]:
        """What is found in it, with the fixes that there are."""

        async def ask() -> tuple[Finding, ...]:
            question = {"text": self.text, "asked": self.asked, "fixes": True}
            found: Found = await self._slow.ask(findings, question, TIMEOUT_S)
            return found.findings

        return await self._once("fixable", ask) if self.concerns_us else ()

    async def notes(self) -> tuple[KernelNote, ...]:
        """What is known of its kernels."""

        async def ask() -> tuple[KernelNote, ...]:
            notes: tuple[KernelNote, ...] = await self._slow.ask(
                kernel_notes, {"text": self.text, "asked": self.asked}, TIMEOUT_S
            )
            return notes

        return await self._once("notes", ask) if self.concerns_us else ()

    async def all_fixed(self, encoding: str) -> list[types.TextEdit]:
        """The edits of every safe fix."""
        if not self.concerns_us:
            return []

        async def ask() -> list[types.TextEdit]:
            edits = await self._slow.ask(all_fixed, {"text": self.text, "asked": self.asked}, FIXING_TIMEOUT_S)
            return [self.positions(encoding).edit(edit) for edit in edits]

        return await self._once("all fixed", ask)

    async def suppressions(self, found: Sequence[Finding], reason: str, encoding: str) -> list[list[types.TextEdit]]:
        """For each of ``found`` the edits that suppress it."""
        question = {"text": self.text, "asked": self.asked, "found": list(found), "reason": reason}

        async def ask() -> list[list[types.TextEdit]]:
            positions = self.positions(encoding)
            answers = await self._slow.ask(suppressed, question, TIMEOUT_S)
            return [[positions.edit(edit) for edit in edits] for edits in answers]

        names = ",".join(finding.fingerprint for finding in found)
        return await self._once(f"suppressions {names} {reason}", ask)

    async def _once(self, name: str, ask: Callable[[], Awaitable[_T]]) -> _T:
        """The answer to ``ask``, which is asked once for all who wait for it, and given up with the last of them."""
        task = self._answers.get(name)
        if task is None:
            task = self._answers[name] = asyncio.ensure_future(ask())
        self._waiting[name] = self._waiting.get(name, 0) + 1
        try:
            answer: _T = await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Superseded from None
            raise
        finally:
            if self._answers.get(name) is task:
                self._waiting[name] -= 1
                if not self._waiting[name] and not task.done():
                    del self._answers[name]
                    task.cancel()
        return answer


def path_of(uri: str, language: str | None, folder: str) -> str:
    """The path of a document, or of what it would be if it were saved in ``folder``: its suffix says what it holds."""
    path = uris.to_fs_path(uri)
    if path is not None:
        return os.path.abspath(path)
    suffix = _SUFFIX_OF_LANGUAGE.get(language or "", ".txt")
    return os.path.join(folder, f"untitled{suffix}")


def touches(place: Place, first_line: int, last_line: int) -> bool:
    """Whether ``place`` has one of the lines, counted from 1."""
    return place.line <= last_line and first_line <= max(place.line, place.end_line)
