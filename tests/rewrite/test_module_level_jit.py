"""Kernels decorated on every call, moved to module level."""

from __future__ import annotations

import re

import pytest
from support.rewriting import fixed, refusal

from kernlint.rules.registry import find_rule

TAKEN = """
FACTORS = (1, 2)

def step(x):
    # twice, by hand
    @triton.autotune(configs=[triton.Config({"BLOCK": 512 * f}) for f in FACTORS], key=["n"])
    @triton.jit
    def kernel(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    y = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y


def other(kernel):
    return kernel


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return step(x)


def get_inputs():
    return [torch.randn(1024, 1024)]
"""


def test_text() -> None:
    after = fixed(find_rule("KL603").bad, "KL603", header=False)
    assert (
        after
        == """import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)


def double(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
    )


def test_a_name_that_is_taken() -> None:
    after = fixed(TAKEN, "KL603")
    assert "\ndef step_kernel(x, y, n" in after and "    step_kernel[lambda meta" in after
    assert after.index("# twice, by hand\n@triton.autotune") < after.index("def step(x)")


CAPTURED = find_rule("KL603").bad.replace("def double(x):", "def double(x, factor=2.0):").replace("* 2.0", "* factor")


#: What decorates the kernel sees the `n` of the function, not its own.
DECORATED = re.sub(
    r"( *)@triton.jit",
    r"\1@triton.autotune(configs=[triton.Config({}, num_warps=n)], key=[])\n\1@triton.jit",
    find_rule("KL603").bad.replace("def double(x):", "def double(x, n=4):"),
)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (CAPTURED, "reads `factor`"),
        (DECORATED, "reads `n`"),
        (re.sub(r"( *)@triton.jit", r"\1@counted\n\1@triton.jit", find_rule("KL603").bad), "on every call"),
        (find_rule("KL603").bad.replace("return y", "del kernel; return y"), "deleted"),
        (find_rule("KL603").bad.replace("y = torch", "kernel = kernel; y = torch"), "something else"),
        (find_rule("KL603").bad.replace("return y", "print(locals()); return y"), "looks at its variables"),
        (
            find_rule("KL603").bad.replace("tl.store", "tl.static_assert(BLOCK, '''a\n                b'''); tl.store"),
            "indentation",
        ),
    ],
    ids=[
        "a variable of the function",
        "in a decorator",
        "another decorator",
        "deleted",
        "bound again",
        "locals",
        "a string of several lines",
    ],
)
def test_refused(source: str, reason: str) -> None:
    assert reason in refusal(source.replace("import torch", "", 1), "KL603")
