"""KL9xx: what kernlint says about a file, or about its own comments in it, rather than about a kernel."""

from __future__ import annotations

from kernlint.lint.model import Finding, Fix, Place
from kernlint.records import dataclass

CATEGORY = "diagnostic"


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic's identity; the attributes are those of a rule that reports read."""

    code: str
    name: str
    severity: str
    summary: str
    category: str = CATEGORY

    def to_markdown(self) -> str:
        """Its documentation, as that of a rule begins."""
        return (
            f"# {self.name} ({self.code})\n\n{self.summary}\n\n"
            f"What `kernlint check` says of a file rather than of a kernel; severity {self.severity}, on by default.\n"
        )

    def at(
        self,
        file: str,
        message: str,
        place: Place | None = None,
        severity: str | None = None,
        fix: Fix | None = None,
        lines: tuple[str, ...] = (),
    ) -> Finding:
        """The finding of this diagnostic; at the head of the file where no place is known."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            category=self.category,
            message=message,
            file=file,
            place=place or Place(1, 1, 1, 1),
            fix=fix,
            lines=lines,
        )


SYNTAX_ERROR = Diagnostic("KL901", "syntax-error", "error", "The file is not Python that can be parsed.")
ANALYSIS_FAILED = Diagnostic(
    "KL902", "analysis-failed", "info", "The analysis of the file crashed, was too deep, or took too long."
)
UNREADABLE = Diagnostic("KL903", "unreadable-file", "error", "The file or folder cannot be read.")
UNUSED_SUPPRESSION = Diagnostic(
    "KL911", "unused-suppression", "warning", "A `# kernlint: ignore[...]` comment that suppresses nothing."
)
MALFORMED_SUPPRESSION = Diagnostic(
    "KL912", "malformed-suppression", "warning", "A `# kernlint:` comment that names no rule, or is not understood."
)

DIAGNOSTICS = (SYNTAX_ERROR, ANALYSIS_FAILED, UNREADABLE, UNUSED_SUPPRESSION, MALFORMED_SUPPRESSION)
