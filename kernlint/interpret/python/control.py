"""How the flow of a program leaves an expression or a statement."""

from __future__ import annotations

from typing import Any


class Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Raised(Exception):
    """The analysed program raises here."""


class OutOfBudget(Exception):
    """The program is too long to follow to its end."""
