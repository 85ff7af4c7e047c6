"""Writes docs/rules.md: every rule's documentation on one page.

python tools/write_rule_docs.py            write it
python tools/write_rule_docs.py --check    exit with 1 where it is not up to date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from kernlint.rules.docs import to_markdown
from kernlint.rules.registry import all_rules

TARGET = Path(__file__).parent.parent / "docs" / "rules.md"


def page() -> str:
    rules = all_rules()
    table = ["| code | name | category | what it finds |", "| --- | --- | --- | --- |"]
    table += [f"| {r.code} | {r.name} | {r.category} | {r.summary} |" for r in rules]
    head = "# Rules\n\n<!-- written by tools/write_rule_docs.py -->\n\n`kernlint rule CODE` prints one of them.\n\n"
    # One level down: each rule's own page starts at level one.
    bodies = [re.sub(r"^(#+) ", r"#\1 ", to_markdown(rule), flags=re.MULTILINE).rstrip() for rule in rules]
    return head + "\n".join(table) + "\n\n" + "\n\n".join(bodies) + "\n"


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
