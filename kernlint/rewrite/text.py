"""Text edits: what every codemod returns, and how they are applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernlint.errors import KernlintError


class CannotRewrite(KernlintError):
    """The change cannot be made to this source automatically; the message says why, for the user."""


@dataclass(frozen=True, order=True)
class TextEdit:
    """Replace the characters ``start`` to ``end`` (exclusive; offsets into the module's text) by ``text``."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """``text`` with all ``edits`` made; equal edits count once. Raises :class:`CannotRewrite` where two overlap."""
    pieces = []
    position = 0
    for edit in sorted(set(edits)):
        if edit.start < position:
            raise CannotRewrite("two of the edits concern the same place")
        pieces += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, text[position:]])
