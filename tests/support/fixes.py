"""Small programs to fix, and what becomes of them."""

from __future__ import annotations

import textwrap

from kernlint.fix import Fixed, fix_source
from kernlint.request import Request

#: A GEMM of one program; ``loop`` is the body of its K loop, ``epilogue`` what follows it. Operands are K-contiguous.
_GEMM = """
import torch
import triton
import triton.language as tl

{helpers}
@triton.jit
def kernel(a, b, c, s, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = {zeros}
    for start in range(0, K, BK):
{loop}
{epilogue}

def launch(a, b, s):
    assert a.dtype == torch.{dtype} and b.dtype == torch.{dtype} and s.dtype == torch.float32
    c = torch.empty(64, 64, device=a.device)
    kernel[(1,)](a, b, c, s, 4096, BM=64, BN=64, BK=64)
    return c
"""

LOADS = """
x = tl.load(a + m[:, None] * K + (start + k)[None, :])
y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
"""
STORE = "tl.store(c + m[:, None] * BN + n[None, :], acc)"
ZEROS = "tl.zeros((BM, BN), tl.float32)"


def gemm(loop: str, epilogue: str = STORE, dtype: str = "int8", helpers: str = "", zeros: str = ZEROS) -> str:
    """A program whose kernel runs ``loop`` for each K-step, on operands of ``dtype``."""
    return _GEMM.format(
        loop=textwrap.indent(textwrap.dedent(loop).strip("\n"), "        "),
        epilogue=textwrap.indent(textwrap.dedent(epilogue).strip("\n"), "    "),
        dtype=dtype,
        helpers=textwrap.dedent(helpers).strip("\n") + "\n\n" if helpers else "",
        zeros=zeros,
    ).lstrip("\n")


def fixed(source: str, rule: str, unsafe: bool = True, autotune: bool = False, **asked: object) -> Fixed:
    """``source`` with what ``rule`` finds fixed; fails where something was not."""
    request = Request(source, **{"path": "kernel.py", "device": "h100", **asked})  # type: ignore[arg-type]
    result = fix_source(request, rules=[rule], unsafe=unsafe, autotune=autotune)
    assert not result.refused, result.refused
    assert result.applied
    return result


def refusal(source: str, rule: str, unsafe: bool = True) -> str:
    """Why what ``rule`` finds in ``source`` is not fixed."""
    result = fix_source(Request(source, path="kernel.py", device="h100"), rules=[rule], unsafe=unsafe)
    assert not result.applied and result.after == result.before
    (refused,) = result.refused
    return refused.reason


def changed(result: Fixed) -> tuple[list[str], list[str]]:
    """The lines that went and those that came, without indentation."""
    lines = result.diff.splitlines()[2:]
    gone = [line[1:].strip() for line in lines if line.startswith("-")]
    came = [line[1:].strip() for line in lines if line.startswith("+")]
    return gone, came
