"""Sources for the linter's tests, and the command itself as a process."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from support import warm

from kernlint.lint.check_file import check_file
from kernlint.lint.diagnostics import DIAGNOSTICS
from kernlint.lint.job import Job
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings

#: A product that feeds its dot int8 operands as fp32: one finding of KL101, and quick to analyse.
KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * K + (k + ks)[None, :])
        b = tl.load(b_ptr + cols[None, :] * K + (k + ks)[:, None])
        acc += tl.dot(a.to(tl.float32), b.to(tl.float32))
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)


def multiply(a, b):
    a = torch.empty((2048, 2048), device="cuda", dtype=torch.int8)
    b = torch.empty((2048, 2048), device="cuda", dtype=torch.int8)
    c = torch.empty((2048, 2048), device="cuda", dtype=torch.float32)
    product[(16, 16)](a, b, c, 2048, 2048, 2048, BM=128, BN=128, BK=64, num_warps=8)
    return c
"""

#: The line and the rule of the finding that every test of suppression uses.
CODE = "KL101"
NAME = "int8-upcast-before-dot"
DOT = "        acc += tl.dot(a.to(tl.float32), b.to(tl.float32))"


def check(source: str | bytes, name: str = "k.py", **settings: Any) -> list[Finding]:
    """What the rules KL101 and the diagnostics find in ``source``, in this process."""
    data = source if isinstance(source, bytes) else source.encode()
    codes = settings.pop("codes", frozenset({CODE, *(diagnostic.code for diagnostic in DIAGNOSTICS)}))
    reference, fixes = settings.pop("reference", None), settings.pop("fixes", False)
    return list(check_file(Job(name, data, FileSettings(codes, **settings), reference, fixes)).findings)


def kernlint_check(*arguments: object, cwd: Path, stdin: bytes = b"", status: int | None = None, **env: str) -> Any:
    """Run ``kernlint check`` in ``cwd`` without a cache (unless one is named); the completed process, text decoded."""
    given = [str(argument) for argument in arguments]
    if "--cache-dir" not in given:
        given.append("--no-cache")
    done: Any = warm.run([*warm.KERNLINT, "check", *given], input=stdin, cwd=cwd, env={**os.environ, **env})
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in done.stderr, done.stderr
    if status is not None:
        assert done.returncode == status, done
    return done


def findings(*arguments: object, cwd: Path, **options: Any) -> list[dict[str, Any]]:
    """What ``kernlint check`` finds, as its JSON."""
    found: list[dict[str, Any]] = json.loads(
        kernlint_check(*arguments, "--output-format", "json", cwd=cwd, **options).stdout
    )
    return found
