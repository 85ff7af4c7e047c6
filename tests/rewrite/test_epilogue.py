"""KL402 as a rewrite: torch calls and elementwise kernels behind a matmul move into it."""

from pathlib import Path

import pytest
from support.codemods import relative_error, rewritten

from kernlint.rewrite.text import CannotRewrite

SOURCE = """
M, N, K = 2048, 4096, 1024

@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        acc = tl.dot(x, y, acc)
    c = acc.to(tl.float16)
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c, mask=mask)

{kernels}
def matmul(a, b):
    c = torch.empty(M, N, device=a.device, dtype=torch.float16)
    grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
    matmul_kernel[grid](a, b, c, M, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
    return c

class ModelNew(torch.nn.Module):
    def forward(self, a, b, bias, scale, residual):
        {forward}

def get_inputs():
    half = dict(dtype=torch.float16)
    return [torch.randn(M, K, **half), torch.randn(K, N, **half) / K**0.5, torch.randn(N, **half),
            torch.randn(M, 1, **half), torch.randn(M, N, **half)]
"""
KERNELS = """@triton.jit
def scale_kernel(x_ptr, out_ptr, count, alpha, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < count)
    # twice, then shifted
    y = x * alpha
    tl.store(out_ptr + i, y + 1.0, mask=i < count)

@triton.jit
def add_kernel(x_ptr, r_ptr, out_ptr, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < count).to(tl.float32)
    r = tl.load(r_ptr + i, mask=i < count).to(tl.float32)
    tl.store(out_ptr + i, (x + r).to(tl.float16), mask=i < count)

def scaled(x, alpha):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), alpha, BLOCK=1024)
    return out

def added(x, r):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, r, out, x.numel(), BLOCK=1024)
    return out

"""


def source(*lines: str, kernels: str = "") -> str:
    return SOURCE.format(forward="\n        ".join(lines), kernels=kernels)


CASES = {
    "bias and relu": (source("return torch.relu(matmul(a, b) + bias)"), "return matmul(a, b, bias)"),
    "one statement each": (
        source("y = matmul(a, b)", "y = y + bias", "y = torch.nn.functional.gelu(y)", "return y"),
        "y = matmul(a, b, bias)",
    ),
    "new names": (source("y = matmul(a, b)", "z = y + bias", "return torch.tanh(z)"), "return y"),
    "gelu by tanh": (
        source("return torch.nn.functional.gelu(matmul(a, b), approximate='tanh')"),
        "return matmul(a, b)",
    ),
    "scale of each row": (source("return matmul(a, b) * scale"), "return matmul(a, b, scale)"),
    "residual": (source("return matmul(a, b) + residual"), "return matmul(a, b, residual)"),
    "residual first": (source("return residual - matmul(a, b)"), "return matmul(a, b, residual)"),
    "in place": (source("y = matmul(a, b)", "y += bias", "y.relu_()", "return y"), "y = matmul(a, b, bias)"),
    "wider result": (source("return torch.sigmoid(matmul(a, b)).float() * 3.0"), "return matmul(a, b)"),
    "clamp and leaky relu": (
        source("return torch.nn.functional.leaky_relu(matmul(a, b).clamp(-1.0, max=2.0), 0.2)"),
        "return matmul(a, b)",
    ),
    "elementwise kernels": (
        source("return added(scaled(matmul(a, b), 2.0), residual)", kernels=KERNELS),
        "return matmul(a, b, residual)",
    ),
    "kernel and torch": (
        source("y = scaled(matmul(a, b), 0.5)", "return torch.relu(y - bias)", kernels=KERNELS),
        "y = matmul(a, b, bias)",
    ),
    "kernel launched beside": (
        source(
            "y = matmul(a, b)",
            "out = torch.empty_like(y)",
            "add_kernel[(triton.cdiv(y.numel(), 1024),)](y, residual, out, y.numel(), BLOCK=1024)",
            "return out",
            kernels=KERNELS,
        ),
        "return y",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_epilogue_is_done_on_the_accumulator(case: str) -> None:
    text, line = CASES[case]
    change = rewritten("KL402", text)
    change.check()
    assert line in change.lines
    assert change.after.count("[grid](") == 1
    assert change.effects.memory == "less"


def test_operands_are_loaded_once_for_a_column_or_row() -> None:
    lines = rewritten("KL402", CASES["bias and relu"][0]).lines
    assert "bias = tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)" in lines
    assert "out = acc + bias[None, :]" in lines
    assert "matmul_kernel[grid](a, b, bias, c, M, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)" in lines
    lines = rewritten("KL402", CASES["scale of each row"][0]).lines
    assert "scale = tl.load(scale_ptr + m, mask=m < M, other=0.0).to(tl.float32)" in lines
    assert "out = acc * scale[:, None]" in lines


def test_the_product_is_rounded_once() -> None:
    change = rewritten("KL402", CASES["bias and relu"][0])
    assert "c = acc.to(tl.float16)" not in change.lines
    assert change.after.count("tl.float16") == 1


def test_the_output_gets_the_type_of_the_result() -> None:
    change = rewritten("KL402", CASES["wider result"][0])
    assert "c = torch.empty(M, N, device=a.device, dtype=torch.float32)" in change.lines


def test_kernels_and_helpers_without_a_use_go_and_comments_stay() -> None:
    change = rewritten("KL402", CASES["elementwise kernels"][0])
    for name in ("scale_kernel", "add_kernel", "def scaled", "def added"):
        assert name not in change.after
    assert "# twice, then shifted" in change.lines
    assert "y = acc * 2.0" in [line.replace("y_2", "y") for line in change.lines]


REFUSED = {
    "operand made behind the matmul": (source("y = matmul(a, b)", "s = bias * 2", "return y + s"), "written behind"),
    "operand written behind the matmul": (
        source("y = matmul(a, b)", "residual.add_(1)", "return y + residual"),
        "written behind",
    ),
    "function that others call": (
        source("return torch.relu(matmul(a, b))") + "\nalias = matmul\n",
        "more than one place",
    ),
    "operation without a form": (source("return torch.nn.functional.softplus(matmul(a, b))"), "no form"),
    "scaled sum": (source("return torch.add(matmul(a, b), bias, alpha=2)"), "options"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_moved_is_left_alone(case: str) -> None:
    text, reason = REFUSED[case]
    with pytest.raises(CannotRewrite, match=reason):
        rewritten("KL402", text)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_results_stay_within_rounding(case: str, tmp_path: Path) -> None:
    sizes = {"M": 40, "N": 72, "K": 64}, {"M": 1, "N": 1, "K": 64}, {"M": 130, "N": 129, "K": 64}
    assert relative_error(rewritten("KL402", CASES[case][0]), tmp_path, *sizes) <= 3e-3
