"""How much of real code is known without asking: launches with their grid and types, operands of dots, types of tensors.

    python benchmarks/known_facts.py DIR...                      packages, unpacked below DIR (one row for each folder in it)
    python benchmarks/known_facts.py --pairs LIST.jsonl ROOT     programs with their references: {"path": ..., "reference": ...}
    --markdown    a table for docs;  --limit N    at most N files of each;  --seconds S    at most S for each file
    --half 0|1    the packages with an even, or odd, hash of their names alone: one half to develop on, one to be measured once

Three columns: the source of one file and what it imports; that and the calls, in the file itself and in its project; and what a
verdict assumes beside it. A launch is known where its grid is, and the types of all that its kernel points into. Operands of dots
are those of launched kernels, and of kernels that nothing launches, here or elsewhere in the project. Nothing of what is read is run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernlint.cost.device import find_device
from kernlint.errors import KernlintError
from kernlint.interpret.callers import CallSite, Items, _of_types, of_entry, sites_in
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.interpret.project import launchers
from kernlint.interpret.question import Question, host_facts, target_for
from kernlint.syntax.dialect import dialect, has_kernel
from kernlint.syntax.source import read_source
from kernlint.syntax.tree import parse_module
from kernlint.verdict.scenarios import Planner, _fact
from kernlint.workload import Access, Expr, Launch, Span, Symbol, Tensor, Workload

DEVICE = find_device("h100-sxm")
WAYS = ("source", "project", "assumed")


@dataclass
class Count:
    """What is ``known`` of ``all``, by the way of knowing; kinds are launches, dots (operands) and tensors."""

    files: int = 0
    failed: int = 0
    all: Counter[str] = field(default_factory=Counter)
    known: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: Count) -> None:
        self.files += other.files
        self.failed += other.failed
        self.all.update(other.all)
        self.known.update(other.known)

    def share(self, kind: str, way: str) -> str:
        total = self.all[kind]
        return "-" if not total else f"{100 * self.known[kind, way] / total:.0f} %"


def grid_known(launch: Launch) -> bool:
    """Whether the grid follows from the arguments."""
    return not any(
        isinstance(atom, Symbol) and atom.name.startswith("grid[")
        for extent in launch.grid
        if isinstance(extent, Expr)
        for atom in extent.atoms()
    )


#: What is known of the things of one kind, by the place of the launch that they are of.
Known = dict[Span, list[bool]]


def facts_of(workload: Workload | None, kernels: Container[str] | None = None) -> dict[str, Known]:
    """What is known of a call, of the launches of ``kernels`` if those are given, thing by thing, by the launch."""
    found: dict[str, Known] = {"launches": {}, "dots": {}, "tensors": {}}
    for launch in workload.first_call().distinct_launches() if workload is not None else ():
        if (kernels is not None and launch.kernel.name not in kernels) or launch.span in found["launches"]:
            continue
        given = launch.arguments
        tensors = [value.dtype is not None for value in given.values() if isinstance(value, Tensor)]
        tensors += [False for base in sorted({a.base or "" for a, _ in launch.kernel.walk(Access)} - given.keys())]  # type: ignore[union-attr]
        found["tensors"][launch.span] = tensors
        found["launches"][launch.span] = [grid_known(launch) and all(tensors)]
        dots = launch.kernel.dots()
        found["dots"][launch.span] = [operand.known for dot in dots for operand in (dot.a, dot.b)]  # type: ignore[union-attr]
    return found


def count_file(path: Path, reference: Path | None, project: bool) -> Count:
    module = parse_module(read_source(str(path)).text, str(path))
    count = Count()
    if not has_kernel(module) or dialect(module) is not None:
        return count
    count.files = 1
    other = parse_module(read_source(str(reference)).text, str(reference)) if reference is not None else None
    program = Program(module, other, Question(host=host_facts(DEVICE)))
    workloads = [w for w in program.workloads() if w.first_call().launches()]
    sites = sites_in(program, workloads, project) if workloads else []
    for workload in workloads:
        versions = _versions(program, workload, of_entry(sites, workload.entry, program))
        for kind in versions[0]:
            _add(count, kind, [version[kind] for version in versions])
    bare = {workload.entry: facts_of(workload)["dots"] for workload in program.bare_kernels()}
    left = {name: operands for name, operands in bare.items() if any(operands.values())}
    for name, operands in list(left.items()):
        for workload in workloads:
            # A call may take a branch to a kernel that the source alone does not launch.
            called, assumed = _with_calls(program, workload, of_entry(sites, workload.entry, program), {name})
            if called["dots"]:
                _add(count, "dots", [operands, called["dots"], assumed.get("dots", called["dots"])])
                del left[name]
                break
    for other_module in launchers(module.path, list(left)) if project and left else ():
        outside = Program(other_module, None, Question(host=host_facts(DEVICE), strict=False))
        ours = [w for w in outside.workloads() if left.keys() & {launch.kernel.name for launch in w.launches()}]
        sites = sites_in(outside, ours, True) if ours else []
        for workload in ours:
            versions = _versions(outside, workload, of_entry(sites, workload.entry, outside), frozenset(left))
            _add(count, "dots", [version["dots"] for version in versions])
            launched = {launch.kernel.name for launch in workload.first_call().launches()}
            left = {name: operands for name, operands in left.items() if name not in launched}
        outside.close()
    for operands in left.values():
        _add(count, "dots", [operands] * len(WAYS))
    program.close()
    return count


def _add(count: Count, kind: str, versions: Sequence[Known]) -> None:
    """Count the things of the launches that the source makes, under each way of knowing. A launch that a call makes in the place of
    one of them, on another branch, counts for that; of launches that it does not make at all it tells nothing."""
    for way, version in zip(WAYS, versions):
        others = iter([known for place, known in version.items() if place not in versions[0]])
        for place, first in versions[0].items():
            known = version[place] if place in version else next(others, first)
            count.known[kind, way] += round(sum(known) * len(first) / max(len(known), 1))
    count.all[kind] += sum(map(len, versions[0].values()))


def _versions(
    program: Program, workload: Workload, sites: Sequence[CallSite], kernels: Container[str] | None = None
) -> list[dict[str, Known]]:
    """What is known of each launch of ``workload``, or of those of ``kernels``, in each of the ways."""
    here = facts_of(workload, kernels)
    if all(all(known) for kind in here.values() for known in kind.values()):
        return [here] * len(WAYS)
    return [here, *_with_calls(program, workload, sites, kernels)]


def _with_calls(
    program: Program, workload: Workload, sites: Sequence[CallSite], kernels: Container[str] | None
) -> list[dict[str, Known]]:
    """What is known of each launch with the types and values of that one of ``sites`` of which most is known, and with what a verdict
    would assume beside those, or without any."""
    called: dict[str, Known] = {}
    assumed: dict[str, Known] = {}
    _keep_best(assumed, facts_of(_assumed(program, workload, sites) or workload, kernels))
    telling = sorted(sites, key=lambda site: -sum(_is_typed(value) for value in site.arguments.values()))
    # What a call gives has its type on the branches too that its sizes do not take.
    for site in (*telling, *(_of_types(site) for site in telling if site.tells and not site.is_of_types)):
        facts = [_fact(name, site.owner, value) for name, value in site.arguments.items()]
        asked = program.about(Question(facts=facts, host=program.question.host, strict=False))
        read = asked.workload(workload.entry, NO_EDITS)
        if read is None:
            continue
        _keep_best(called, facts_of(read, kernels))
        if not _is_all_known(assumed):
            _keep_best(assumed, facts_of(_assumed(asked, read, ()) or read, kernels))
        if _is_all_known(called):
            break
    return [called or facts_of(workload, kernels), assumed]


def _keep_best(best: dict[str, Known], found: dict[str, Known]) -> None:
    """Note in ``best`` the launches of which more is known by ``found``."""
    for kind, known in found.items():
        for place, things in known.items():
            before = best.setdefault(kind, {}).setdefault(place, things)
            best[kind][place] = things if sum(things) * len(before) > sum(before) * len(things) else before


def _is_all_known(found: dict[str, Known]) -> bool:
    return bool(found) and all(map(all, found["launches"].values()))


def _is_typed(value: object) -> bool:
    return isinstance(value, Items) or (isinstance(value, tuple) and value[0] is not None)


def _assumed(program: Program, workload: Workload, sites: Sequence[CallSite]) -> Workload | None:
    """The call with the types that a verdict would assume."""
    planner = Planner(program, workload, target_for(None, DEVICE), sites)
    types = planner.assignments()[0]
    return program.at(dtypes=types).workload(workload.entry, NO_EDITS) if types else None


def files_of(folder: Path, limit: int) -> Iterator[Path]:
    """The files below ``folder`` that define kernels, as many as ``limit`` says, in the order of a hash of their names."""
    found = [path for path in sorted(folder.rglob("*.py")) if _KERNEL.search(path.read_bytes())]
    found.sort(key=lambda path: _hash(str(path.relative_to(folder))))
    yield from found[: limit or None]


_KERNEL = re.compile(rb"^\s*@triton\.(jit|heuristics|autotune)", re.MULTILINE)


def _hash(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def bounded(path: Path, reference: Path | None, project: bool, seconds: float) -> Count:
    """The count of one file in a process of its own, which may fail or take too long alone."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        sys.setrecursionlimit(20_000)
        try:
            count = count_file(path, reference, project)
            data = [count.files, dict(count.all), [[*key, value] for key, value in count.known.items()]]
        except (KernlintError, RecursionError, OSError) as error:
            data = [str(error)]
        os.write(write, json.dumps(data).encode())
        os._exit(0)
    os.close(write)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, _ = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
    with os.fdopen(read, "rb") as stream:
        text = stream.read()
    data = json.loads(text) if text else [f"{path}: nothing came back"]
    if len(data) != 3:
        print(f"{path}: {data[0]}", file=sys.stderr)
        return Count(files=1, failed=1)
    return Count(data[0], 0, Counter(data[1]), Counter({(kind, way): n for kind, way, n in data[2]}))


def sum_of(counts: Iterable[Count]) -> Count:
    total = Count()
    for count in counts:
        total.add(count)
    return total


def table(rows: dict[str, Count], markdown: bool) -> str:
    kinds = ("launches", "dots", "tensors")
    head = ["", "files", *(f"{kind}: {' / '.join(WAYS)}" for kind in kinds)]
    lines = [head]
    if markdown:
        lines.append(["---"] * len(head))
    for name, count in rows.items():
        shares = (f"{' / '.join(count.share(kind, way) for way in WAYS)} of {count.all[kind]:,}" for kind in kinds)
        lines.append([name, f"{count.files}" + (f" ({count.failed} failed)" if count.failed else ""), *shares])
    return "\n".join(f"| {' | '.join(line)} |" if markdown else "  ".join(line) for line in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--pairs", nargs=2, metavar=("LIST", "ROOT"))
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    rows: dict[str, Count] = {}
    for top in options.folders:
        for folder in sorted(path for path in top.iterdir() if path.is_dir()):
            if options.half is not None and _hash(folder.name) % 2 != options.half:
                continue
            rows[folder.name] = Count()
            for path in files_of(folder, options.limit):
                rows[folder.name].add(bounded(path, None, True, options.seconds))
    rows["all packages"] = sum_of(rows.values())
    if options.pairs:
        listed, root = Path(options.pairs[0]), Path(options.pairs[1])
        entries = [json.loads(line) for line in listed.read_text().splitlines() if line.strip()]
        step = max(1, len(entries) // options.limit) if options.limit else 1
        name = f"{listed.stem}, with references"
        rows[name] = Count()
        for entry in entries[::step]:
            reference = root / entry["reference"] if entry.get("reference") else None
            rows[name].add(bounded(root / entry["path"], reference, False, options.seconds))
    sys.stdout.write(table(rows, options.markdown))


if __name__ == "__main__":
    main()
