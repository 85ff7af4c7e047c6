"""Any Python taken for Triton code: ``any_python.py FOLDER... [--share I/N]`` makes kernels and launchers of the functions of every file
below, in memory, and checks that with every rule. Nothing of it is run.

A folder without kernels is skipped by ``kernlint check`` after a look at its bytes; here every layer sees it: the parser, the
interpreter of host code (each second module-level function launches a kernel first), that of kernels (the others are
kernels), rules, cost. Printed are the files that end in KL902, which a time limit and source nested too deeply for the parser
explain and nothing else, those that take over five seconds of the processor, and counts as JSON. With ``--share I/N`` only
the ``I``-th of ``N`` parts is looked at, so that N of them can run side by side.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator

from kernlint.errors import SourceError
from kernlint.lint.diagnostics import DIAGNOSTICS
from kernlint.lint.job import Job
from kernlint.lint.pool import run_jobs
from kernlint.lint.reading import read_bytes
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import all_rules
from kernlint.sandbox import processor_s
from kernlint.syntax.source import decode_source
from kernlint.write import encoded

PROBE = """

import torch, triton
import triton.language as tl


@triton.jit
def _probe(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
"""
LAUNCH = "_probe[(1,)](torch.empty(64), 64, B=64)"
LONG_S = 5.0
_AT_ONCE = 200


def as_triton(text: str) -> str:
    """``text`` with a kernel behind it, and its module-level functions and methods made kernels and launchers in turn."""
    lines = text.split("\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text + PROBE
    functions = [node for node in _functions(tree) if "\f" not in lines[node.lineno - 1]]
    new: dict[int, str] = {}
    for number, node in enumerate(functions):
        first = node.body[0]
        if number % 2 and node.col_offset == 0 and isinstance(node, ast.FunctionDef):
            new[min([node.lineno, *(d.lineno for d in node.decorator_list)])] = "@triton.jit"
        elif first.lineno > node.lineno and not isinstance(
            first, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            line = lines[first.lineno - 1]
            new[first.lineno] = line[: len(line) - len(line.lstrip())] + LAUNCH
    return "\n".join(f"{new[n]}\n{line}" if n in new else line for n, line in enumerate(lines, 1)) + PROBE


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (child for child in node.body if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))


def python_files(folders: list[str]) -> Iterator[str]:
    for folder in folders:
        if os.path.isfile(folder):
            yield folder
        for top, _, names in os.walk(folder):
            yield from (os.path.join(top, name) for name in sorted(names) if name.endswith(".py"))


def jobs_of(paths: Iterator[str], seen: set[bytes]) -> Iterator[Job]:
    """A job for each file of other content than those before it that can be read."""
    settings = FileSettings(frozenset(item.code for item in (*all_rules(), *DIAGNOSTICS)))
    for path in paths:
        try:
            data = read_bytes(path)
            digest = hashlib.blake2b(data).digest()
            if digest in seen:
                continue
            seen.add(digest)
            source = decode_source(data, path)
            data = encoded(as_triton(source.text), source)
        except SourceError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        yield Job(path, data, settings)


def worker_s() -> float:
    """The processor time of the one worker there is, a new one where the last one died; 0 where the system does not tell."""
    return max((processor_s(child.pid) or 0.0 for child in multiprocessing.active_children()), default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--share", default="1/1", help="which part of the files: I/N, I from 1")
    asked = parser.parse_args()
    part, parts = (int(number) for number in asked.share.split("/"))
    counts: Counter[str] = Counter()
    jobs = jobs_of(itertools.islice(python_files(asked.folders), part - 1, None, parts), set())
    while batch := [job for _, job in zip(range(_AT_ONCE), jobs)]:
        before_s = 0.0
        for index, result in run_jobs(batch, workers=1):
            total_s = worker_s()
            took_s, before_s = total_s - before_s, total_s
            ends = {finding.code: finding.message for finding in result.findings if finding.code.startswith("KL90")}
            counts.update(list(ends) or ["analysed"])
            counts["files"] += 1
            if "KL902" in ends:
                print(f"{batch[index].shown}: {took_s:.1f} s, KL902 {ends['KL902']}", flush=True)
            elif took_s > LONG_S:
                counts["long"] += 1
                print(f"{batch[index].shown}: {took_s:.1f} s", flush=True)
        print(dict(counts), file=sys.stderr, flush=True)
    print(json.dumps(counts, indent=2))


if __name__ == "__main__":
    main()
