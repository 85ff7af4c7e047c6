"""Each evidence row about wrong Triton code against the rules: found in its bad example, silent on its good one.

    python benchmarks/bug_rows.py BUG-PATTERNS.jsonl [--rows 037-054,069-076] [--markdown docs/bug-rows.md]

A row is a JSON object with id, title, minimal_bad and minimal_good. The rules of a row are those whose evidence names it
("Pattern row BUG-001"). Its examples are checked as they stand, and where nothing is found there, once more with the host code
of `bug_hosts.py`, which gives the tensors types and sizes. A kernel without its launcher proves less, so its findings may be a
level lower. Rows without a rule have a written reason in `bug_reasons.py`. What the row's rules find is then fixed, as
`kernlint fix --rule CODE --unsafe-fixes` would: the row is clean after where nothing of its own is left and no rule about wrong or
unportable code finds more than before. Exits 1 where a row has neither rule nor reason, where nothing is found in its bad example,
where a rule of its own fires on the good one, or where a fix leaves the finding or brings another.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bug_hosts import DEVICES, HOSTS
from bug_reasons import REASONS
from evidence import rules_of_rows

from kernlint.fix import fix_source
from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.model import SEVERITIES
from kernlint.lint.settings import FileSettings
from kernlint.request import Request
from kernlint.rewrite.site import NO_REWRITE
from kernlint.rules.base import NOT_ABOUT_SPEED
from kernlint.rules.registry import all_rules, find_rule

IMPORTS = "import torch\nimport triton\nimport triton.language as tl\n"


@dataclass(frozen=True)
class Fix:
    """What fixing the bad example did: how the fixes are declared (``effects``, empty where there is none), why what is left
    is not fixed (``refusal``), which of the row's rules still find something (``left``), and which other rules about wrong or
    unportable code find more than before (``new``)."""

    effects: str
    refusal: str
    left: str
    new: str

    @property
    def sound(self) -> bool:
        return not self.effects or (not self.new and (not self.left or bool(self.refusal)))

    def __str__(self) -> str:
        if not self.effects:
            return f"no: {self.refusal.removeprefix('No automatic fix: ')}" if self.refusal else "NO REASON"
        if self.new:
            return f"BRINGS {self.new}"
        if self.left:
            return f"{self.effects}; left: {self.left}" + (f", {self.refusal}" if self.refusal else "")
        return f"{self.effects}, clean after"


@dataclass(frozen=True)
class Row:
    """The outcome of one row: the strongest severity in the bad example (empty: nothing found), whether that took host code
    of ours, which rule it was, and what a rule of the row says of the good example (empty: nothing)."""

    id: str
    title: str
    rules: tuple[str, ...]
    found: str = ""
    by: str = ""
    hosted: bool = False
    false: str = ""
    reason: str = ""
    fix: Fix | None = None

    @property
    def settled(self) -> bool:
        if not self.rules:
            return bool(self.reason)
        return bool(self.found) and not self.false and (self.fix is None or self.fix.sound)


def strongest(source: str, codes: Sequence[str], device: str) -> tuple[str, str]:
    """The strongest severity that rules of ``codes`` report in ``source`` and the rule that does; empty where none does."""
    settings = FileSettings(frozenset(codes), device=device)
    findings = check_file(Job("row.py", source.encode(), settings)).findings
    ranked = sorted((SEVERITIES.index(f.severity), f.code, f.severity) for f in findings if f.code in codes)
    return (ranked[0][2], ranked[0][1]) if ranked else ("", "")


def fixed(source: str, codes: Sequence[str], device: str) -> Fix:
    """What the fixes of rules ``codes`` make of ``source``."""
    result = fix_source(Request(source, path="row.py", device=device), rules=codes, unsafe=True)
    effects = {f"{one.effects.applicability}, {one.effects.numerics}" for one in result.applied}
    before, after = (_counts(text, device) for text in (result.before, result.after))
    left = [code for code in sorted(codes) if after[code]]
    new = [code for code in sorted(after) if code not in codes and after[code] > before[code]]
    # Of a rule without a fix its documentation says why it has none.
    reasons = dict.fromkeys(
        " ".join(find_rule(one.code).fix_safety.split()) if one.reason == NO_REWRITE else one.reason
        for one in result.refused
    )
    return Fix("; ".join(sorted(effects)), "; ".join(reasons), ", ".join(left), ", ".join(new))


def _counts(source: str, device: str) -> Counter[str]:
    """How often each rule about wrong or unportable code finds something."""
    codes = frozenset(rule.code for rule in all_rules() if rule.category in NOT_ABOUT_SPEED)
    settings = FileSettings(codes, device=device)
    return Counter(f.code for f in check_file(Job("row.py", source.encode(), settings)).findings)


def judge(row: dict[str, str], codes: Sequence[str]) -> Row:
    id, title = row["id"], row["title"]
    device = DEVICES.get(id, "h100-sxm")
    bad, good, host = (IMPORTS + row["minimal_bad"], IMPORTS + row["minimal_good"], HOSTS.get(id, ""))
    (found, by), hosted = strongest(bad, codes, device), False
    if host:
        with_host = strongest(bad + host, codes, device)
        if with_host[0] and (not found or SEVERITIES.index(with_host[0]) < SEVERITIES.index(found)):
            (found, by), hosted = with_host, True
    false = strongest(good, codes, device)[0] or (strongest(good + host, codes, device)[0] if host else "")
    fix = fixed(bad + host * hosted, codes, device) if found else None
    return Row(id, title, tuple(codes), found, by, hosted, false, REASONS.get(id, ""), fix)


def report(rows: Sequence[Row]) -> str:
    ruled = [r for r in rows if r.rules]
    lines = [
        f"{len(ruled)} of {len(rows)} rows have a rule; {sum(bool(r.found) for r in ruled)} bad examples are found, "
        f"{sum(not r.false for r in ruled)} good ones are clean of their own rules. "
        f"{sum(bool(r.fix and r.fix.effects and not r.fix.left) for r in ruled)} bad examples are fixed automatically and clean "
        "after: nothing of their own is found any more, and no rule about wrong or unportable code finds anything new.",
        "",
        "| row | pattern | rules | bad example | good example | fix |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for r in rows:
        title = r.title.replace("|", "\\|")
        if not r.rules:
            lines.append(f"| {r.id} | {title} | none: {r.reason or 'NO REASON'} | - | - | - |")
            continue
        found = f"{r.found} by {r.by}{' (with host code)' if r.hosted else ''}" if r.found else "NOT FOUND"
        lines.append(
            f"| {r.id} | {title} | {', '.join(r.rules)} | {found} | {r.false.upper() if r.false else 'clean'} | {r.fix or '-'} |"
        )
    return "\n".join(lines)


def chosen(id: str, ranges: str | None) -> bool:
    """Whether a row is among ``037-054,070``."""
    number = int(id.rpartition("-")[2])
    for part in (ranges or "0-999").split(","):
        first, _, last = part.partition("-")
        if int(first) <= number <= int(last or first):
            return True
    return False


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns")
    parser.add_argument("--rows")
    parser.add_argument("--markdown")
    options = parser.parse_args(arguments)
    known = rules_of_rows("BUG")
    patterns = [json.loads(line) for line in Path(options.patterns).read_text().splitlines() if line.strip()]
    rows = [judge(p, [rule.code for rule in known.get(p["id"], [])]) for p in patterns if chosen(p["id"], options.rows)]
    text = report(rows)
    print(text)
    if options.markdown:
        head = "# Evidence rows about wrong code, and their rules\n\n<!-- written by benchmarks/bug_rows.py -->\n\n"
        Path(options.markdown).write_text(f"{head}{text}\n")
    return int(not all(r.settled for r in rows))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
