"""How often each rule fires on code that experts wrote, and a random sample of the findings to be judged by hand.

    python benchmarks/rates.py FOLDER [FOLDER ...] [--about speed|soundness] [--select CODES] [--sample 50] [--seed 4]
                               [--level loud|remark|any] [--fold 100] [--answers FOLDER] [--markdown FILE]

Runs `kernlint check` on each folder (one package each) and prints findings per thousand kernels by rule, those at info level
apart; those about speed, or those about soundness (correctness and portability). The sample is drawn from the findings of the
default rules above info level (`--level loud`), at it (`remark`) or from both, sorted by package, file and line, so that the
same code and seed give the same sample; its verdict column is for a person to fill in. `--answers` keeps the JSON of each
package; one that is there already is not read again. Packages of fewer kernels than `--fold` says share a column.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_KERNEL = re.compile(rb"^[ \t]*@(?:triton\.)?jit\b", re.MULTILINE)
_SOUNDNESS = ("correctness", "portability")

#: The name of a level to whether its findings are remarks.
LEVELS = {"loud": (False,), "remark": (True,), "any": (False, True)}


@dataclass(frozen=True)
class Package:
    """What was found in one folder that holds ``kernels`` jit functions."""

    name: str
    kernels: int
    findings: tuple[dict[str, object], ...]


def read(folder: str, about: str, select: str | None, answers: Path | None = None) -> Package:
    """The findings of one package about ``speed`` or ``soundness``, paths relative to it."""
    root = Path(folder).resolve()
    kernels = sum(len(_KERNEL.findall(path.read_bytes())) for path in root.rglob("*.py") if path.is_file())
    kept = answers / f"{root.name}.json" if answers is not None else None
    if kept is not None and kept.is_file():
        answer = kept.read_text()
    else:
        answer = _checked(root, select)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(answer)
    found = [f for f in json.loads(answer) if f["category"] != "diagnostic"]
    findings = [f for f in found if (f["category"] in _SOUNDNESS) == (about == "soundness")]
    findings.sort(key=lambda f: (f["file"], f["location"]["line"], f["code"]))
    return Package(root.name, kernels, tuple(findings))


def _checked(root: Path, select: str | None) -> str:
    """What `kernlint check` answers about one folder, as JSON."""
    command = [sys.executable, "-m", "kernlint", "check", ".", "--output-format", "json", "--exit-zero", "--no-cache"]
    if select:
        command += ["--select", select]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


def folded(packages: Sequence[Package], least: int) -> list[Package]:
    """``packages`` with all those of fewer than ``least`` kernels as one, called others, at the end."""
    small = [p for p in packages if p.kernels < least]
    if not small:
        return list(packages)
    others = Package("others", sum(p.kernels for p in small), tuple(f for p in small for f in p.findings))
    return [*(p for p in packages if p.kernels >= least), others]


def rates(packages: Sequence[Package]) -> str:
    """Findings per thousand kernels, one row a rule, one column a package; info level after the plus sign."""
    loud, quiet = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for package in packages:
        for finding in package.findings:
            count = quiet if finding["severity"] == "info" else loud
            count[(f"{finding['code']} {finding['name']}", package.name)] += 1
            count[(f"{finding['code']} {finding['name']}", "all")] += 1
    kernels = {p.name: p.kernels for p in packages} | {"all": sum(p.kernels for p in packages)}
    lines = ["| rule | " + " | ".join(f"{name} ({n} kernels)" for name, n in kernels.items()) + " |"]
    lines.append("| --- " * (len(kernels) + 1) + "|")
    for rule in sorted({rule for rule, _ in (*loud, *quiet)}):
        cells = [_cell(loud[rule, name], quiet[rule, name], n) for name, n in kernels.items()]
        lines.append(f"| {rule} | " + " | ".join(cells) + " |")
    sums = [
        _cell(
            sum(n for (_, name), n in loud.items() if name == package),
            sum(n for (_, name), n in quiet.items() if name == package),
            number,
        )
        for package, number in kernels.items()
    ]
    return "\n".join([*lines, "| all rules | " + " | ".join(sums) + " |"])


def _cell(loud: int, quiet: int, kernels: int) -> str:
    def rate(count: int) -> str:
        return f"{1000 * count / max(kernels, 1):.1f}"

    return (rate(loud) if loud else "-") + (f" + {rate(quiet)}" if quiet else "")


def sample(packages: Sequence[Package], size: int, seed: int, level: str = "loud") -> str:
    """A table of ``size`` findings of a ``level`` of :data:`LEVELS`, drawn with ``seed``; verdict and reason are left open."""
    everything = [(p.name, f) for p in packages for f in p.findings if (f["severity"] == "info") in LEVELS[level]]
    drawn = sorted(random.Random(seed).sample(range(len(everything)), min(size, len(everything))))
    lines = ["| # | place | rule | message | verdict | reason |", "| --- | --- | --- | --- | --- | --- |"]
    for number, index in enumerate(drawn, 1):
        package, finding = everything[index]
        message = str(finding["message"]).replace("|", "\\|")
        place = f"{package}: {finding['file']}:{finding['location']['line']}"  # type: ignore[index]
        lines.append(f"| {number} | {place} | {finding['code']} | {message} | | |")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--about", choices=("speed", "soundness"), default="speed")
    parser.add_argument("--select")
    parser.add_argument("--sample", type=int, default=50)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--level", choices=tuple(LEVELS), default="loud")
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--markdown")
    options = parser.parse_args(arguments)
    packages = [read(folder, options.about, options.select, options.answers) for folder in options.folders]
    text = f"{rates(folded(packages, options.fold))}\n\n{sample(packages, options.sample, options.seed, options.level)}"
    print(text)
    if options.markdown:
        Path(options.markdown).write_text(f"# Findings in packages that experts wrote\n\n{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
