"""Writes docs/rules.md, the table of all rules. Their pages are made when the site is built (tools/build_docs.py).

python tools/write_rule_docs.py            write it
python tools/write_rule_docs.py --check    exit with 1 where it is not up to date
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from kernlint.links import rule_url
from kernlint.lint.selection import Entry, catalogue

TARGET = Path(__file__).parent.parent / "docs" / "rules.md"

_HEAD = """\
# Rules

<!-- written by tools/write_rule_docs.py -->

Each rule has a page: what it finds, why that is slow or wrong, when it is not, an example and what to write instead, how safe its fix is,
and the evidence. `kernlint rule CODE` prints it; `kernlint rules --json` has this table as data. Which rules run, and how severe they are:
[the linter](check.md#rules).
"""


def page() -> str:
    by_category = groupby(sorted(catalogue(), key=lambda entry: (entry.code[:3], entry.code)), lambda e: e.category)
    return _HEAD + "".join(_table(category, list(entries)) for category, entries in by_category)


def _table(category: str, entries: list[Entry]) -> str:
    head = ["", f"## {category}", "", "| code | name | severity | what it finds |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *map(_row, entries), ""])


def _row(entry: Entry) -> str:
    severity = entry.severity if entry.default else f"{entry.severity}, off"
    return f"| [{entry.code}]({rule_url(entry.code)}) | {entry.name} | {severity} | {_cell(entry.summary)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
