"""What `check` says of kernels that people have labelled good or bad.

    python benchmarks/labels.py LABELS.json ROOT [--device ID] [--markdown FILE]

LABELS.json is a list of objects with path, kernel, line, label (good, bad), pattern and why; ROOT holds the files that they
name: a checkout of each repository in a folder owner__name, a package unpacked in a folder of its name; where a repository
publishes a program as text, its name ends in `.py.txt`. A bad kernel is found when a performance rule reports above info
level in the function that the label names or about the kernel and its launch; a good one must have no such finding. Host
syncs (KL602), which stand beside a launch, concern a label only where the label names their function. A file that is not
below ROOT is reported as missing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import all_rules

NOT_SPEED = ("correctness", "portability", "diagnostic")


@dataclass(frozen=True)
class Answer:
    """One labelled kernel and the performance findings that concern it, or why there are none to speak of."""

    path: str
    kernel: str
    label: str
    pattern: str
    findings: tuple[Finding, ...] = ()
    problem: str = ""

    @property
    def loud(self) -> list[Finding]:
        return [f for f in self.findings if f.severity != "info"]

    @property
    def right(self) -> bool:
        return not self.problem and bool(self.loud) == (self.label == "bad")


def answer(row: dict[str, object], root: str, device: str) -> Answer:
    """What the default performance rules report about the kernel that ``row`` labels."""
    path, kernel = str(row["path"]), str(row["kernel"])
    head = (path, kernel, str(row["label"]), str(row["pattern"] or ""))
    file = Path(root) / path
    if not file.exists():
        file = file.with_name(file.name + ".txt")
    if not file.exists():
        return Answer(*head, problem="file is missing")
    codes = frozenset(r.code for r in all_rules() if r.default and r.category not in NOT_SPEED)
    settings = FileSettings(codes | {"KL901", "KL902", "KL903"}, device=device)
    result = check_file(Job(str(file.with_suffix(".py")), file.read_bytes(), settings, _reference(file)))
    failures = [f for f in result.findings if f.category == "diagnostic"]
    lines = _lines(file, kernel)
    kernels = {kernel.split()[0], *(f.kernel for f in result.findings if f.kernel and _calls(file, f.kernel, kernel))}
    concerned = tuple(
        f
        for f in result.findings
        if f.category not in NOT_SPEED and (f.place.line in lines or (f.code != "KL602" and f.kernel in kernels))
    )
    return Answer(*head, concerned, failures[0].message if failures and not concerned else "")


def _reference(file: Path) -> tuple[str, bytes] | None:
    """The problem that a generated kernel solves: beside it, or in the KernelBench folder of the checkout."""
    beside = file.with_name("problem.py")
    if beside.exists():
        return str(beside), beside.read_bytes()
    found = re.search(r"(?P<root>.*)/results/(?P<level>level\d)/(?P<problem>[^/]+)/", str(file))
    other = Path(found["root"], "KernelBench", found["level"], found["problem"] + ".py") if found else None
    return (str(other), other.read_bytes()) if other is not None and other.exists() else None


def _lines(file: Path, name: str) -> range:
    """The lines of the function called ``name`` (its first word): from ``def`` to the next statement further left."""
    lines = file.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        opening = re.match(rf"(\s*)(?:async )?def {re.escape(name.split()[0])}\b", line)
        if opening:
            body = enumerate(lines[number:], number + 1)
            inside = rf"\s{{{len(opening[1]) + 1}}}|\s*$|\s*[)#]"
            end = next((n for n, text in body if not re.match(inside, text)), len(lines) + 1)
            return range(number, end)
    return range(0)


def _calls(file: Path, caller: str, name: str) -> bool:
    """Whether the function ``caller`` calls ``name``: a labelled kernel may be launched through a jit wrapper."""
    text = file.read_text().splitlines()
    return any(re.search(rf"\b{re.escape(name.split()[0])}\(", text[line - 1]) for line in _lines(file, caller))


def report(answers: Sequence[Answer]) -> str:
    bad = [a for a in answers if a.label == "bad" and not a.problem]
    good = [a for a in answers if a.label == "good" and not a.problem]
    lines = [
        f"bad kernels with a finding above info level: {sum(a.right for a in bad)} of {len(bad)}",
        f"bad kernels with a finding of any level: {sum(bool(a.findings) for a in bad)} of {len(bad)}",
        f"good kernels without a finding above info level: {sum(a.right for a in good)} of {len(good)}",
        f"not judged: {sum(bool(a.problem) for a in answers)}",
        "",
        "Some of the rules were written with these kernels at hand, so this says whether they are found, not how many others would be.",
        "What is slow is a remark (info) where no gain can be predicted, or the predicted interval holds a loss.",
        "",
        "| kernel | label | pattern | right | findings |",
        "| --- | --- | --- | --- | --- |",
    ]
    for a in answers:
        found = ", ".join(f"{f.code} {f.severity} (line {f.place.line})" for f in a.findings) or "-"
        right = a.problem or ("yes" if a.right else "NO")
        lines.append(f"| {a.kernel} in {a.path.split('/', 1)[1]} | {a.label} | {a.pattern} | {right} | {found} |")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels")
    parser.add_argument("root")
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("--markdown")
    options = parser.parse_args(arguments)
    rows = json.loads(Path(options.labels).read_text())
    with ProcessPoolExecutor(max_workers=2) as pool:
        answers = list(pool.map(partial(answer, root=options.root, device=options.device), rows))
    text = report(answers)
    print(text)
    if options.markdown:
        Path(options.markdown).write_text(f"# Labelled kernels\n\n<!-- written by benchmarks/labels.py -->\n\n{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
