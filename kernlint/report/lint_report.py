"""What the formats of ``kernlint check`` have in common: the findings, and where files stand for other tools."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from kernlint.lint.model import SEVERITIES, Finding
from kernlint.lint.names import is_outside, relative_name
from kernlint.records import dataclass, replace


@dataclass(frozen=True)
class LintReport:
    """``findings`` in order, the number of ``files`` looked at, and the ``root`` of the repository that reports for
    other tools name files relative to. ``hidden`` more findings are left out of what people read. Nothing is known of the speed of
    ``undecided``, files and functions."""

    findings: Sequence[Finding]
    files: int
    root: str
    hidden: int = 0
    undecided: Sequence[tuple[str, str]] = ()

    def without(self, severity: str) -> LintReport:
        """The report without the findings of ``severity``, which it still counts."""
        shown = [finding for finding in self.findings if finding.severity != severity]
        return replace(self, findings=shown, hidden=self.hidden + len(self.findings) - len(shown), undecided=())

    def path_of(self, finding: Finding) -> str:
        """The finding's file relative to the root, with forward slashes; absolute where it lies outside."""
        name = relative_name(finding.file, self.root)
        return os.path.abspath(finding.file).replace(os.sep, "/") if is_outside(name) else name

    def uri_of(self, finding: Finding) -> str:
        """:meth:`path_of` as a percent-encoded URI reference."""
        path = self.path_of(finding)
        if os.path.isabs(path):
            return Path(path).as_uri()
        return quote(path.encode("utf-8", "surrogateescape"), safe="/")

    def counts(self) -> Counter[str]:
        """How many findings there are of each severity."""
        return Counter(finding.severity for finding in self.findings)

    def summary(self) -> str:
        """One sentence for people."""
        files = f"{self.files} file{'' if self.files == 1 else 's'}"
        hidden = f" {self.hidden} more {'is' if self.hidden == 1 else 'are'} hidden." if self.hidden else ""
        if not self.findings:
            return f"No findings in {files}.{hidden}"
        counts = self.counts()
        total = len(self.findings)
        parts = ", ".join(
            f"{counts[s]} {s}{'s' if counts[s] > 1 and s != 'info' else ''}" for s in SEVERITIES if counts[s]
        )
        return f"{total} finding{'' if total == 1 else 's'} in {files} ({parts}).{hidden}"

    def left_open(self) -> list[str]:
        """A sentence for people on what would decide the speed of what is open; none where nothing is."""
        if not self.undecided:
            return []
        (file, entry), *others = self.undecided
        more = f" and {len(others)} more" if others else ""
        ask = f"`kernlint {'-' if file.startswith('<') else shlex.quote(file)}`"
        told = f"The speed of `{entry}`{more} was not judged, as sizes or types are open"
        return [f"{told}: {ask} tries plausible ones, --assume gives them."]


def file_lines(finding: Finding) -> tuple[int, int, int, int]:
    """Line, column, end line and end column in the file itself, for tools that annotate it.

    Such tools see a notebook as its JSON, in which a cell's line has no number: they get the first.
    """
    return finding.place.ends if finding.place.cell is None else (1, 1, 1, 1)


def located_message(finding: Finding) -> str:
    """The message, with the cell where :func:`file_lines` cannot tell it, and the predicted gain."""
    place = finding.place
    cell = "" if place.cell is None else f"cell {place.cell}, line {place.line}: "
    gain = gain_text(finding)
    return f"{cell}{finding.message}{f' [{gain}]' if gain else ''}"


def gain_text(finding: Finding) -> str:
    """The 80 % interval of the predicted gain in the scope that gains most, as people write it; else empty."""
    from kernlint.verdict.speedup import faster, format_speedup

    if finding.gain is None:
        return ""
    scope, numbers = max(finding.gain.scopes.items(), key=lambda item: item[1]["speedup"])
    text = format_speedup(numbers["low"], numbers["high"])
    if not text or text == "0%":
        return ""
    return f"{text} {faster(scope)}"
