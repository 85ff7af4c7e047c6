"""kernlint: a static analyser and linter for Triton kernels.

``analyze``, ``analyze_columns`` and ``Verdict`` are the whole public interface; they are loaded on first use, so that
``import kernlint`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernlint.version import __version__

if TYPE_CHECKING:
    from kernlint.analysis import analyze
    from kernlint.batch.columns import analyze_columns
    from kernlint.verdict.model import Verdict

__all__ = ["Verdict", "__version__", "analyze", "analyze_columns"]

_HOME = {
    "analyze": "kernlint.analysis",
    "analyze_columns": "kernlint.batch.columns",
    "Verdict": "kernlint.verdict.model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
