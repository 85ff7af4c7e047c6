"""What many ask of something that does not change, worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

_T = TypeVar("_T")


class AskedOnce:
    """Keeps the answers to what it was asked."""

    @cached_property
    def _answers(self) -> dict[Any, Any]:
        return {}

    def once(self, question: Callable[..., _T], *about: Any) -> _T:
        """``question(self, *about)``, asked once."""
        asked = question, *about
        if asked not in self._answers:
            self._answers[asked] = question(self, *about)
        answer: _T = self._answers[asked]
        return answer
