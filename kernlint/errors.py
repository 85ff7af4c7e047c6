"""Errors that a user can cause: each is one clear line, and the command line ends with status 2 on any of them."""

from __future__ import annotations

import re
from collections.abc import Sequence


class KernlintError(Exception):
    """The base of them all. ``str(error)`` is one line, without the ``kernlint: error:`` in front."""


class SourceError(KernlintError):
    """The input cannot be read or parsed: missing, binary, too large, too deep, or not Python."""


class AnalysisError(KernlintError):
    """The input was read, but there is no verdict on it: no kernel, nothing launched, not Triton's language."""


class UsageError(KernlintError):
    """The question is wrong: an unknown device, rule or name, or two settings that contradict each other."""


def suggestion(close: Sequence[str], where: str = "") -> str:
    """The end of a sentence about an unknown word: ``; did you mean A, B or C?`` where ``close`` ones are known, else ``where`` all are
    listed."""
    if not close:
        return f"; {where}" if where else ""
    *first, last = close
    return f"; did you mean {', '.join(first)}{' or ' * bool(first)}{last}?"


def missing(path: str, what: str = "no such file") -> str:
    """The sentence about a ``path`` where nothing is; of one that is written as the code of a rule, also what shows that rule."""
    is_code = re.fullmatch(r"KL\d{3}", path, re.IGNORECASE)
    return f"{path}: {what}" + (f"; `kernlint rule {path}` shows the page of a rule" if is_code else "")
