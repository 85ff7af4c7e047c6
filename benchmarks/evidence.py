"""Which rules name a row of a pattern collection as their evidence."""

from __future__ import annotations

import re

from kernlint.rules.base import Rule
from kernlint.rules.registry import all_rules


def rules_of_rows(collection: str) -> dict[str, list[Rule]]:
    """The rules by the rows that their evidence names: of the collection ``BUG``, BUG-001 and so on."""
    found: dict[str, list[Rule]] = {}
    for rule in all_rules():
        for row in sorted(set(re.findall(rf"{collection}-\d{{3}}", rule.evidence))):
            found.setdefault(row, []).append(rule)
    return found
