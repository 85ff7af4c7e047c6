"""Where in the source something stands."""

from __future__ import annotations

from kernlint.records import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """A half-open source range: lines from 1, columns from 1, as editors and SARIF count them.

    In a Markdown task file the lines are those of the Markdown file.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies within this range."""
        return (
            self.file == other.file
            and (self.line, self.column) <= (other.line, other.column)
            and (other.end_line, other.end_column) <= (self.end_line, self.end_column)
        )
