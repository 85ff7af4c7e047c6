"""How often each rule found something."""

from __future__ import annotations

import json
from collections import Counter

from kernlint.report.lint_report import LintReport


def render(report: LintReport, as_json: bool = False) -> str:
    """A line a rule: count, code and name, the most frequent first; ``as_json`` gives a list of the same."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if as_json:
        return json.dumps([{"code": c, "name": n, "count": count} for (c, n), count in rows], indent=2) + "\n"
    width = len(str(rows[0][1])) if rows else 0
    lines = [f"{count:>{width}}  {code}  {name}" for (code, name), count in rows]
    return "\n".join([*lines, report.summary()]) + "\n"
