"""Which failures of LLM-written kernels `check` predicts from source, and what it says of the kernels that ran correctly.

    python benchmarks/llm_failures.py ROWS CHECKOUT [--markdown FILE] [--list CLASS]

ROWS (`benchmarks/llm_rows.jsonl`) is a file of JSON lines with path, reference, correct and (for what failed) failure: the class
of the error that a run with Triton 3.3 on an RTX 4090 ended in. CHECKOUT holds the files. Each file is checked with
`--target-triton 3.3 --device rtx-4090` and the rules about correctness and portability, and the one about shared memory. A
failure is found when an error-level finding of one of the rules of its class is among the findings; "any error" also counts those
of other rules, since a file may be wrong in more than one way.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
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

TARGET, DEVICE = "3.3", "rtx-4090"

HEAD = """# Failures of LLM-written kernels that source shows

<!-- written by benchmarks/llm_failures.py -->

What a run with Triton 3.3 on an RTX 4090 ended in, for 723 kernels that language models wrote ([the collection](llm-kernels.md)), and
which of these ends `kernlint check` tells from the source and its reference alone:

```console
python benchmarks/llm_failures.py benchmarks/llm_rows.jsonl CHECKOUT --markdown docs/llm-failures.md
```

"""

#: The page's part from here on is written by hand, and stays.
BY_HAND = "## Which of these figures are first met"

#: The rules that say why, by class of failure, for the classes that source can show. "jit function called from Python" is what
#: Triton 3.3 also says when a run-time index makes Python iterate over a tensor ("Did you forget to add @triton.jit ?"), so
#: that the rules about indices, shapes and host functions name its cause.
RULES: dict[str, str] = {
    "no such tl function (attribute)": "KL701 KL801 KL729",
    "undefined name in kernel or host": "KL702 KL711 KL719 KL720",
    "duplicate meta-parameter at launch": "KL703",
    "missing/unexpected kernel argument": "KL703 KL728",
    "unsupported AST (break/continue/…)": "KL704",
    "jit function called from Python / not decorated": "KL712 KL709 KL706 KL719",
    "arange: argument not constexpr": "KL706",
    "shape not constexpr": "KL706",
    "arange/shape: not a power of 2": "KL705",
    "store/load: block vs scalar pointer or type": "KL707 KL708 KL729",
    "incompatible shapes / broadcast": "KL708",
    "tensor indexing unsupported": "KL709",
    "loop-carried type mismatch": "KL710",
    "autotune decorator misuse": "KL714 KL703",
    "out of resource: shared memory": "KL207",
}

OTHERS: dict[str, str] = {
    "dot operand shape/dtype": "KL715",
    "if/else type mismatch": "KL711",
    "program_id axis > 2": "KL713",
    "attribute on constexpr/tensor value": "KL729 KL721 KL728",
    "type error (int vs tensor, constexpr ops)": "KL729 KL719 KL713 KL728",
    "output mismatch (wrong result)": "KL752 KL765 KL766 KL767 KL768 KL769",
    "illegal memory access / CUDA error": "",
    "PassManager / compiler crash": "",
    "CUDA OOM": "",
    "other": "",
}


@dataclass(frozen=True)
class Answer:
    """One file: why it failed (empty: it ran correctly) and the error-level findings."""

    path: str
    failure: str
    errors: tuple[Finding, ...]
    problem: str = ""

    @property
    def right(self) -> bool:
        wanted = (RULES | OTHERS).get(self.failure, "").split()
        return any(f.code in wanted for f in self.errors)


def answer(row: dict[str, object], root: str) -> Answer:
    path, reference = Path(root, str(row["path"])), Path(root, str(row["reference"]))
    asked = frozenset(r.code for r in all_rules() if r.default and r.category in ("correctness", "portability"))
    codes = asked | {"KL207", "KL901", "KL902", "KL903"}
    settings = FileSettings(codes, device=DEVICE, target_triton=TARGET)
    pair = (str(reference), reference.read_bytes()) if reference.exists() else None
    result = check_file(Job(str(path), path.read_bytes(), settings, pair))
    errors = tuple(f for f in result.findings if f.severity == "error" and f.category != "diagnostic")
    problem = next((f.message for f in result.findings if f.category == "diagnostic"), "")
    return Answer(str(row["path"]), "" if row["correct"] else str(row["failure"]), errors, problem)


def report(answers: Sequence[Answer]) -> str:
    failed = defaultdict(list)
    for one in answers:
        if one.failure:
            failed[one.failure].append(one)
    lines = ["| class of failure | rules | kernels | found by them | any error |", "| --- | --- | --- | --- | --- |"]
    for classes in (RULES, OTHERS):
        rows = [(name, failed[name]) for name in classes]
        for name, group in rows:
            lines.append(_row(name, classes[name], group))
        title = "**all that source can show**" if classes is RULES else "**the rest**"
        lines.append(_row(title, "", [a for _, group in rows for a in group]))
    correct = [a for a in answers if not a.failure]
    wrong = [a for a in correct if a.errors]
    share = 100 * len(wrong) / max(1, len(correct))
    lines += ["", f"Of {len(correct)} kernels that ran correctly {len(wrong)} have an error ({share:.1f} %):", ""]
    for one in wrong:
        for f in one.errors:
            lines.append(f"- `{one.path}` line {f.place.line}: {f.code} {f.message}")
    unread = Counter(a.problem for a in answers if a.problem)
    lines += ["", f"Not read to the end: {sum(unread.values())}"]
    return "\n".join(lines)


def _row(name: str, rules: str, group: Sequence[Answer]) -> str:
    found, any_error = sum(a.right for a in group), sum(bool(a.errors) for a in group)
    share = f"{found} ({100 * found / max(1, len(group)):.0f} %)"
    return f"| {name} | {rules or '-'} | {len(group)} | {share} | {any_error} |"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("checkout")
    parser.add_argument("--markdown", help="write the tables to this file too")
    parser.add_argument("--list", help="print the files of this class (`correct`, `missed`) with their errors")
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for line in Path(options.rows).read_text().splitlines() if line.strip()]
    with ProcessPoolExecutor(max_workers=2) as pool:
        answers = list(pool.map(partial(answer, root=options.checkout), rows, chunksize=8))
    text = report(answers)
    print(text)
    for one in answers if options.list else ():
        missed = options.list == "missed" and one.failure in RULES and not one.right
        if one.failure == options.list or missed:
            print(f"{one.failure}: {one.path}: {[(f.code, f.place.line) for f in one.errors]} {one.problem}")
    if options.markdown:
        page = Path(options.markdown)
        _, found, rest = page.read_text().partition(BY_HAND) if page.exists() else ("", "", "")
        page.write_text(f"{HEAD}{text}\n" + (f"\n{found}{rest}" if found else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
