"""Each evidence row about slow Triton code against the rules: found in its bad example, silent on its good one.

    python benchmarks/perf_rows.py PERF-PATTERNS.jsonl [--markdown docs/perf-rows.md]

A row is a JSON object with id, title, fp_risk, minimal_bad and minimal_good. The rules of a row are those whose evidence names
it ("Pattern row PERF-001"). Its examples are analysed as they stand, and where nothing is found there, once more with the
host code of `perf_hosts.py`, which gives the tensors types and sizes, as a program in the wild would. Rows without a rule have
a written reason in `perf_reasons.py`. Exits 1 where a row has neither, or where a rule fires on the good example.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evidence import rules_of_rows
from perf_hosts import HOSTS
from perf_reasons import REASONS

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.errors import KernlintError
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.lint.model import SEVERITIES
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context
from kernlint.syntax.tree import parse_module

IMPORTS = "import functools\nimport torch\nimport triton\nimport triton.language as tl\n"
IMPORTS += "from triton.tools.tensor_descriptor import TensorDescriptor\n"


@dataclass(frozen=True)
class Row:
    """The outcome of one row. ``found`` is the severity of the strongest finding in the bad example (empty: none),
    ``hosted`` that it took host code of ours, ``clean`` that the good example has no such finding."""

    id: str
    title: str
    rules: tuple[Rule, ...]
    found: str = ""
    hosted: bool = False
    clean: bool = True
    by: str = ""
    reason: str = ""

    @property
    def settled(self) -> bool:
        return bool(self.rules and self.found and self.clean) or bool(self.reason)


def severities(source: str, rules: Sequence[Rule]) -> dict[str, str]:
    """The strongest severity that each of ``rules`` reports in ``source``, by code; empty where it cannot be read."""
    gpu = find_device("h100-sxm")
    found: dict[str, str] = {}
    try:
        program = Program(parse_module(source, "row.py"), None, Question(host=host_facts(gpu)))
        workloads = [*program.workloads(), *program.bare_kernels()]
    except KernlintError:
        return found
    for workload in workloads:
        context = Context(program, workload, gpu, price=lambda w: estimate(w, gpu))
        for rule in rules:
            if workload.bare and not rule.bare:
                continue
            for finding in context.ask(rule):
                found[rule.code] = min(found.get(rule.code, "info"), finding.severity, key=SEVERITIES.index)
    return found


def judge(row: dict[str, str], rules: Sequence[Rule]) -> Row:
    """What the rules of ``row`` say of its two examples."""
    id, title = row["id"], row["title"]
    if not rules:
        return Row(id, title, (), reason=REASONS.get(id, ""))
    host = HOSTS.get(id)
    bad, good = row["minimal_bad"], row["minimal_good"]
    found = severities(IMPORTS + textwrap.dedent(bad), rules)
    hosted = not found and host is not None
    if host is not None and hosted:
        bad, good = host.around(bad, host.bad), host.around(good, host.bad if host.good is None else host.good)
        found = severities(IMPORTS + bad, rules)
    clean = not severities(IMPORTS + textwrap.dedent(good), [rule for rule in rules if rule.code in found])
    strongest = min(found.values(), key=SEVERITIES.index) if found else ""
    by = ", ".join(found)
    return Row(id, title, tuple(rules), strongest, hosted, clean, by, "" if found and clean else REASONS.get(id, ""))


def report(rows: Sequence[Row]) -> str:
    ruled = [r for r in rows if r.rules]
    lines = [
        "# Evidence rows about slow code",
        "",
        "Every row of the pattern collection, with the rule that finds it or the reason why none does. Written by",
        "`benchmarks/perf_rows.py`. *bad* is the strongest severity in the row's bad example; *with host code* says that the",
        "example is a bare kernel or launcher, and was given the other half by `benchmarks/perf_hosts.py`.",
        "",
        f"- {len(rows)} rows; {len(ruled)} name a rule, {sum(bool(r.found) for r in ruled)} of these are found in the bad example, and "
        f"{sum(bool(r.found) and r.clean for r in ruled)} of these are silent on the good one",
        f"- {sum(bool(r.reason) for r in rows)} rows have a written reason instead",
        f"- {sum(not r.settled for r in rows)} rows are open",
        "",
        "| row | title | rule | bad | good clean | reason |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for r in rows:
        found = (r.found + (" with host code" if r.hosted else "")) if r.found else ("-" if r.rules else "")
        clean = ("yes" if r.clean else "NO") if r.found else ""
        names = r.by or ", ".join(rule.code for rule in r.rules)
        title = r.title.replace("|", "\\|")
        lines.append(
            f"| {r.id} | {title} | {names} | {found} | {clean} | {r.reason or ('' if r.settled else 'open')} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("--markdown")
    options = parser.parse_args(arguments)
    by_row = rules_of_rows("PERF")
    rows = [json.loads(line) for line in Path(options.rows).read_text().splitlines()]
    judged = [judge(row, by_row.get(row["id"], [])) for row in rows]
    text = report(judged)
    print(text)
    if options.markdown:
        Path(options.markdown).write_text(text)
    return int(not all(row.settled and row.clean for row in judged))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
