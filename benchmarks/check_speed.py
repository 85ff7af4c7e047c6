"""How much processor time `kernlint check` takes, beside ruff, Fixit, TorchFix and bare LibCST parsing, in one run.

    python benchmarks/check_speed.py PACKAGE_DIR [PACKAGE_DIR ...] [--tools BIN] [--json FILE]

PACKAGE_DIR are unpacked packages: the figures in docs/check.md are of sglang 0.5.23 and liger-kernel 0.8.5. ``--tools``
is the `bin` folder of an environment with ruff, fixit and torchfix; one that is not there is left out, with a note.
`kernlint check` prints text, its default; as JSON it works out the fix of each finding too, which is a row of its own.
Fixit and TorchFix get the files that define a jit function only, since neither leaves the others out by itself.

Seconds are of the processor, user and system, of a command and all its children; machines differ and so do their loads,
so read the ratios. Bare parsing is measured before and after everything else: where the two differ, so may the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_PARSE = """
import sys, libcst
for path in open(sys.argv[1]).read().split("\\n"):
    with open(path, "rb") as file:
        libcst.parse_module(file.read())
"""

_START = "import libcst"

#: One small file with a kernel, its launcher, its reference and all sizes, for which the best tile is searched.
_SEED = Path(__file__).parent.parent / "fixtures" / "seed" / "task.md"


@dataclass(frozen=True)
class Cost:
    """Of one command: processor and wall time in seconds, and the most memory that it and its children held at a time,
    in MB (proportional set size, 0 where the system does not tell)."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def run(command: Sequence[str], statuses: Sequence[int] = (0, 1)) -> Cost:
    """The cost of ``command``. Raises ``RuntimeError`` where its status is none of ``statuses``."""
    before, start = os.times(), time.perf_counter()
    # What is installed has its bytecode beside it, whatever the environment says of new one.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    ) as process:
        watch = _Watch(process.pid)
        _, errors = process.communicate()
        peak_mb = watch.stop()
    after = os.times()
    if process.returncode not in statuses:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {errors[-500:]}")
    cpu_s = after.children_user - before.children_user + after.children_system - before.children_system
    return Cost(cpu_s, time.perf_counter() - start, peak_mb)


class _Watch:
    """Looks at the memory of a session's processes a few times a second."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._peak_kb = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """The peak in MB."""
        self._done.set()
        self._thread.join()
        return self._peak_kb / 1024

    def _look(self) -> None:
        while not self._done.wait(0.25):
            self._peak_kb = max(self._peak_kb, sum(map(_memory_kb, self._members())))

    def _members(self) -> list[Path]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._session:
                found.append(folder)
        return found


def _memory_kb(folder: Path) -> int:
    try:
        lines = (folder / "smaps_rollup").read_text().split("\n")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def sources(folders: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """All Python files below ``folders``, those that contain ``triton``, and those that define a jit function."""
    every, triton, jit = [], [], []
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.py")):
            data = path.read_bytes()
            every.append(str(path))
            if b"triton" in data:
                triton.append(str(path))
                if b"triton.jit" in data or b"@jit" in data:
                    jit.append(str(path))
    return every, triton, jit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--tools", default=os.path.dirname(sys.executable))
    parser.add_argument("--json", help="write the figures there too")
    options = parser.parse_args()
    every, triton, jit = sources(options.folders)
    print(f"{len(every)} files, {len(triton)} contain `triton`, {len(jit)} define a jit function")
    with tempfile.TemporaryDirectory() as scratch:
        costs = _measure(options.folders, jit, options.tools, Path(scratch))
    bare = costs["LibCST: parse the files with a jit function"].cpu_s
    print(f"\n{'':62}{'CPU s':>8}{'x bare':>8}{'wall s':>8}{'MB':>6}")
    for name, cost in costs.items():
        print(f"{name:62}{cost.cpu_s:8.2f}{cost.cpu_s / bare:8.2f}{cost.wall_s:8.2f}{cost.peak_mb:6.0f}")
    _ratios(costs)
    if options.json:
        Path(options.json).write_text(json.dumps({name: vars(cost) for name, cost in costs.items()}, indent=2) + "\n")


def _measure(folders: Sequence[str], jit: Sequence[str], tools: str, scratch: Path) -> dict[str, Cost]:
    python = sys.executable
    listed = scratch / "jit.txt"
    listed.write_text("\n".join(jit))
    kernlint = [python, "-m", "kernlint", "check", "--isolated"]
    cold, cache = [*kernlint, "--no-cache"], str(scratch / "cache")
    as_json = ["--output-format", "json"]
    single = scratch / "seed.md"
    shutil.copy(_SEED, single)
    costs: dict[str, Cost] = {}

    def note(name: str, command: Sequence[str]) -> None:
        print(f"  {name} ...", file=sys.stderr)
        costs[name] = run(command)

    parse = [python, "-c", _PARSE, str(listed)]
    run([*cold, str(single)])  # which compiles what was not yet
    note("LibCST: parse the files with a jit function", parse)
    note("kernlint check, cold, one process", [*cold, "--jobs", "1", *folders])
    note("kernlint check, cold, two processes", [*cold, "--jobs", "2", *folders])
    note("kernlint check, cold, one process, JSON with fixes", [*cold, *as_json, "--jobs", "1", *folders])
    run([*kernlint, "--cache-dir", cache, *folders])
    note("kernlint check, warm", [*kernlint, "--cache-dir", cache, *folders])
    note("import libcst", [python, "-c", _START])
    typical = sorted(jit, key=os.path.getsize)[len(jit) // 2]
    note("kernlint check, one file of middle size, cold", [*cold, typical])
    note("kernlint check, one file with all sizes, cold", [*cold, str(single)])
    note("kernlint check, one file with all sizes, JSON with fixes", [*cold, *as_json, str(single)])
    note("kernlint, the verdict on one file", [python, "-m", "kernlint", str(single)])
    for name, command in _others(tools, folders, jit, scratch):
        if os.path.exists(command[0]):
            note(name, command)
        else:
            print(f"  {name}: left out, there is no {command[0]}", file=sys.stderr)
    note("LibCST: the same again", parse)
    return costs


def _others(tools: str, folders: Sequence[str], jit: Sequence[str], scratch: Path) -> list[tuple[str, list[str]]]:
    ruff = [os.path.join(tools, "ruff"), "check", "--isolated", "--quiet"]
    warm = [*ruff, "--cache-dir", str(scratch / "ruff"), *folders]
    if os.path.exists(ruff[0]):
        subprocess.run(warm, capture_output=True, check=False)
    return [
        ("ruff check, cold", [*ruff, "--no-cache", *folders]),
        ("ruff check, warm", warm),
        ("TorchFix, the files with a jit function", [os.path.join(tools, "torchfix"), "--select", "ALL", *jit]),
        ("Fixit, the files with a jit function", [os.path.join(tools, "fixit"), "--quiet", "lint", *jit]),
    ]


def _ratios(costs: dict[str, Cost]) -> None:
    def of(name: str, what: Callable[[Cost], float] = lambda cost: cost.cpu_s) -> float:
        return what(costs[name]) if name in costs else float("nan")

    one, two = "kernlint check, cold, one process", "kernlint check, cold, two processes"
    middle, sized = "kernlint check, one file of middle size, cold", "kernlint check, one file with all sizes, cold"
    rows = (
        ("cold, CPU, over bare parsing", of(one) / of("LibCST: parse the files with a jit function"), "1.2"),
        ("two processes, speedup in wall time", of(one, lambda c: c.wall_s) / of(two, lambda c: c.wall_s), "near 2"),
        ("warm, CPU, over ruff warm", of("kernlint check, warm") / of("ruff check, warm"), "2"),
        ("JSON with fixes, CPU, over text", of("kernlint check, cold, one process, JSON with fixes") / of(one), ""),
        ("a middling file, CPU, over `import libcst`", of(middle) / of("import libcst"), "2.5"),
        ("one with sizes, CPU, over `import libcst`", of(sized) / of("import libcst"), "2.5"),
        ("verdict, CPU, over `import libcst`", of("kernlint, the verdict on one file") / of("import libcst"), ""),
        ("peak memory, MB", of(two, lambda c: c.peak_mb), "500"),
    )
    print()
    for name, value, target in rows:
        print(f"{name:44}{value:8.2f}   {'target ' + target if target else ''}")


if __name__ == "__main__":
    main()
