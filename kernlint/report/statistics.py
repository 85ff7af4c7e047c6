"""How often each rule found something."""

from __future__ import annotations

import json
from collections import Counter

from kernlint.report.lint_report import LintReport


def render(report: LintReport, output_format: str = "text") -> str:
    """A line a rule: count, code and name, the most frequent first; ``json`` is a list of the same, ``json-lines`` an object a
    line."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    records = [{"code": c, "name": n, "count": count} for (c, n), count in rows]
    if output_format == "json":
        return json.dumps(records, indent=2) + "\n"
    if output_format == "json-lines":
        return "".join(json.dumps(record) + "\n" for record in records)
    width = len(str(rows[0][1])) if rows else 0
    lines = [f"{count:>{width}}  {code}  {name}" for (code, name), count in rows]
    return "\n".join([*lines, report.summary()]) + "\n"
