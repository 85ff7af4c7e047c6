"""How much of real Triton code the interpreter understands, as a table.

    python benchmarks/coverage.py                      the pairs in fixtures/
    python benchmarks/coverage.py DIR [DIR ...]        every file with a kernel below these folders

One row per pair (or per folder): known/total of launches followed to their end, tensor arguments, grids, constexpr
values, dots and memory accesses.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from kernlint.errors import KernlintError
from kernlint.interpret.coverage import Coverage, measure
from kernlint.interpret.program import Program
from kernlint.syntax.source import read_source
from kernlint.syntax.task import read_task

PAIRS = Path(__file__).parent.parent / "fixtures" / "pairs"


def of_file(path: Path, reference: Path | None = None) -> Coverage:
    """The coverage of one file; raises :class:`KernlintError` where it cannot be read."""
    kernel = read_task(read_source(str(path))).kernel
    other = read_task(read_source(str(reference))).kernel if reference is not None and reference.exists() else None
    return measure(Program(kernel, other).workloads())


def table(rows: list[tuple[str, Coverage]]) -> str:
    total = Coverage()
    for _, coverage in rows:
        total += coverage
    lines = [["", *Coverage.columns()], *([name, *c.row()] for name, c in rows), ["total", *total.row()]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def main(arguments: list[str]) -> None:
    rows: list[tuple[str, Coverage]] = []
    if not arguments:
        for pair in sorted(p for p in PAIRS.iterdir() if p.is_dir()):
            for version in ("before", "after"):
                if (pair / f"{version}.py").exists():
                    rows.append((f"{pair.name}/{version}", of_file(pair / f"{version}.py", pair / "reference.py")))
    for folder in arguments:
        total, failed, files, start = Coverage(), 0, 0, time.perf_counter()
        for path in sorted(Path(folder).rglob("*.py")):
            if b"triton" not in path.read_bytes():
                continue
            files += 1
            try:
                total += of_file(path)
            except KernlintError as error:
                failed += 1
                print(f"  {error}", file=sys.stderr)
        print(f"{folder}: {files} files, {failed} not read, {time.perf_counter() - start:.1f} s", file=sys.stderr)
        rows.append((Path(folder).name, total))
    print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
