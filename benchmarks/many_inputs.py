"""What one process pays for verdict after verdict, as a training loop asks for them: LLM-written kernels, many for one reference.

    python benchmarks/many_inputs.py ROWS.jsonl CHECKOUT [--every N] [--memory N]

ROWS.jsonl and CHECKOUT are those of `llm_kernels.py`. Each program is asked about with its reference (met before only where another
kernel had it), once more with a comment behind it (the reference is known then, the kernel is not), and that again (seen). Figures are
milliseconds of the processor. ``--memory`` asks about so many programs more, each another text, and tells what the process grew by.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import os
import statistics
import sys
import time
from pathlib import Path

from kernlint import analyze
from kernlint.errors import KernlintError


def asked(text: str, path: str, reference: str) -> float:
    """Processor seconds of one verdict, or of saying that there is none."""
    begun = time.process_time()
    with contextlib.suppress(KernlintError):
        analyze(text, path=path, reference=reference)
    return time.process_time() - begun


def memory_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--every", type=int, default=12, help="take each N-th row")
    parser.add_argument("--memory", type=int, default=0)
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()][:: given.every]
    programs = [
        ((given.checkout / row["path"]).read_text(), row["path"], (given.checkout / row["reference"]).read_text())
        for row in rows
    ]
    asked(*programs[0])  # which imports the rules
    times: dict[str, list[float]] = {"met": [], "reference known": [], "seen": []}
    for text, path, reference in programs:
        times["met"].append(asked(text, path, reference))
        times["reference known"].append(asked(f"{text}\n# again\n", path, reference))
        times["seen"].append(asked(f"{text}\n# again\n", path, reference))
    print(f"{len(programs)} programs{'':14}{'median':>8}{'quarter':>9}{'3 quarters':>12}{'mean':>8}  ms")
    for name, found in times.items():
        low, middle, high = (1000 * q for q in statistics.quantiles(found, n=4))
        print(f"{name:26}{middle:8.1f}{low:9.1f}{high:12.1f}{1000 * statistics.mean(found):8.1f}")
    print(f"torch imported: {'torch' in sys.modules}")
    if given.memory:
        quick = [programs[i] for i in sorted(range(len(programs)), key=lambda i: times["met"][i])[: len(programs) // 2]]
        marks = []
        for number, (text, path, reference) in zip(range(given.memory + 1), itertools.cycle(quick)):
            if number % max(1, given.memory // 4) == 0:
                marks.append(f"{number}: {memory_mb():.0f}")
            asked(f"{text}\n# {number}\n", path, reference)
        print(f"MB after so many programs more: {', '.join(marks)}")


if __name__ == "__main__":
    main()
