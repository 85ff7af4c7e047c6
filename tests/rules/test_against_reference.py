"""What a program computes otherwise than its reference: planted faults are told by their kind, right programs are left alone."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings

CODES = frozenset({"KL765", "KL766", "KL767", "KL768", "KL769"})

ROWS = """
import torch
import torch.nn as nn
import triton
import triton.language as tl


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.scale = nn.Parameter(torch.randn(width))
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x, residual):
        y = nn.functional.layer_norm(x + residual, (x.shape[-1],), self.scale, self.bias, 1e-5)
        return torch.nn.functional.gelu(y)


@triton.jit
def normalise(x_ptr, r_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + row * n + i, mask=m, other=0.0)
    x += tl.load(r_ptr + row * n + i, mask=m, other=0.0)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(m, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / n
    y = d * tl.rsqrt(var + eps)
    y = y * tl.load(w_ptr + i, mask=m, other=0.0) + tl.load(b_ptr + i, mask=m, other=0.0)
    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    tl.store(y_ptr + row * n + i, y, mask=m)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.scale = nn.Parameter(torch.randn(width))
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x, residual):
        rows, width = x.shape
        y = torch.empty_like(x)
        normalise[(rows,)](x, residual, self.scale, self.bias, y, width, 1e-5, BLOCK=triton.next_power_of_2(width))
        return y


def get_inputs():
    return [torch.randn(96, 200), torch.randn(96, 200)]


def get_init_inputs():
    return [200]
"""

PRODUCT = """
import torch
import triton
import triton.language as tl


class Model(torch.nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.linear = torch.nn.Linear(k, n)

    def forward(self, x):
        return torch.relu(self.linear(x)) * 2.0


@triton.autotune(configs=[triton.Config({"BM": 32, "BN": 32, "BK": 16}), triton.Config({"BM": 16, "BN": 64, "BK": 32})],
                 key=["M", "N", "K"])
@triton.jit
def product(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles = tl.cdiv(N, BN)
    pid = tl.program_id(0)
    rm = pid // tiles * BM + tl.arange(0, BM)
    rn = pid % tiles * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc = tl.dot(x, w, acc)
    acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0)[None, :]
    acc = tl.maximum(acc, 0.0) * 2.0
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(torch.nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.linear = torch.nn.Linear(k, n)

    def forward(self, x):
        M, K = x.shape
        N = self.linear.weight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)
        product[grid](x, self.linear.weight, self.linear.bias, y, M, N, K)
        return y


def get_inputs():
    return [torch.randn(100, 72)]


def get_init_inputs():
    return [72, 150]
"""


def told(source: str) -> list[Finding]:
    settings = FileSettings(CODES)
    return [f for f in check_file(Job("kernel.py", source.encode(), settings)).findings if f.code in CODES]


def changed(source: str, before: str, after: str) -> str:
    assert before in source, before
    return source.replace(before, after)


@pytest.mark.parametrize("source", [ROWS, PRODUCT])
def test_what_computes_the_same_is_left_alone(source: str) -> None:
    assert told(source) == []


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        (ROWS, "mean = tl.sum(x, axis=0) / n", "mean = tl.sum(x / n, axis=0)"),
        (ROWS, "y = d * tl.rsqrt(var + eps)", "y = d / tl.sqrt(eps + var)"),
        (ROWS, "var = tl.sum(d * d, axis=0) / n", "var = tl.sum(x * x, axis=0) / n - mean * mean"),
        (ROWS, "0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))", "y / (1.0 + tl.exp(-1.5957691 * (y + 0.044715 * y * y * y)))"),
        (PRODUCT, "tl.maximum(acc, 0.0) * 2.0", "tl.where(acc > 0, 2.0 * acc, 0.0)"),
        (PRODUCT, "acc = tl.dot(x, w, acc)", "acc += tl.sum(x[:, :, None] * w[None, :, :], axis=1)"),
    ],
)  # fmt: skip
def test_another_way_to_write_it_is_left_alone(source: str, before: str, after: str) -> None:
    assert told(changed(source, before, after)) == []


@pytest.mark.parametrize(
    ("source", "before", "after", "code"),
    [
        # The result.
        (ROWS, "y = torch.empty_like(x)", "y = torch.empty_like(x, dtype=torch.float16)", "KL765"),
        (PRODUCT, "        return y\n", "        return y[1:]\n", "KL765"),
        (ROWS, "normalise[(rows,)]", "normalise[(rows - 1,)]", "KL766"),
        (PRODUCT, "triton.cdiv(N, meta", "(N // meta", "KL766"),
        (PRODUCT, "mask=(rm[:, None] < M) & (rn[None, :] < N))\n\n", "mask=(rm[:, None] < M) & (rn[None, :] < N - 1))\n\n", "KL766"),
        # The inputs.
        (ROWS, "    x += tl.load(r_ptr + row * n + i, mask=m, other=0.0)\n", "", "KL767"),
        (ROWS, " + tl.load(b_ptr + i, mask=m, other=0.0)", "", "KL767"),
        (ROWS, "(x, residual, self.scale, self.bias, y,", "(x, x, self.scale, self.bias, y,", "KL767"),
        (ROWS, "tl.load(w_ptr + i, mask=m, other=0.0)", "tl.load(b_ptr + i, mask=m, other=0.0)", "KL767"),
        (PRODUCT, "    acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0)[None, :]\n", "", "KL767"),
        # The elements of them.
        (PRODUCT, "for k in range(0, K, BK)", "for k in range(BK, K, BK)", "KL768"),
        (PRODUCT, "for k in range(0, K, BK)", "for k in range(0, K - BK, BK)", "KL768"),
        (PRODUCT, "rn[None, :] * K + rk[:, None]", "rn[None, :] + rk[:, None] * N", "KL768"),
        (ROWS, "r_ptr + row * n + i", "r_ptr + i", "KL768"),
        # The arithmetic.
        (ROWS, "var = tl.sum(d * d, axis=0) / n", "var = tl.sum(d * d, axis=0) / (n / 2)", "KL769"),
        (ROWS, "tl.rsqrt(var + eps)", "tl.sqrt(var + eps)", "KL769"),
        (ROWS, "    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))\n", "", "KL769"),
        (ROWS, "    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))\n", "    y = tl.maximum(y, 0.0)\n", "KL769"),
        (PRODUCT, "tl.maximum(acc, 0.0) * 2.0", "tl.maximum(acc, 0.0)", "KL769"),
        (PRODUCT, "tl.maximum(acc, 0.0) * 2.0", "acc * 2.0", "KL769"),
        (PRODUCT, "tl.maximum(acc, 0.0)", "tl.minimum(acc, 0.0)", "KL769"),
        (PRODUCT, "acc = tl.dot(x, w, acc)", "acc = tl.dot(x, w)", "KL769"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_told_by_its_kind(source: str, before: str, after: str, code: str) -> None:
    found = told(changed(source, before, after))
    assert [(f.code, f.severity) for f in found] == [(code, "error")], [f.message for f in found]


def test_a_finding_shows_both_places_and_numbers() -> None:
    (finding,) = told(changed(PRODUCT, "tl.maximum(acc, 0.0) * 2.0", "tl.maximum(acc, 0.0)"))
    assert "always 0.5 times as large" in finding.message
    lines = PRODUCT.splitlines()
    assert "tl.store" in lines[finding.place.line - 1]
    (reference,) = [fact for fact in finding.evidence if "the reference" in fact]
    assert f"line {1 + next(i for i, line in enumerate(lines) if 'torch.relu' in line)}" in reference


def test_only_some_configurations_are_a_warning() -> None:
    grid = 'lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)'
    source = changed(PRODUCT, grid, "(triton.cdiv(M, 32) * triton.cdiv(N, 32),)")
    source = changed(source, '"BM": 16, "BN": 64, "BK": 32', '"BM": 32, "BN": 32, "BK": 32')
    source = changed(source, '"BM": 32, "BN": 32, "BK": 16', '"BM": 16, "BN": 16, "BK": 16')
    assert {(f.code, f.severity) for f in told(source)} == {("KL766", "warning")}


def test_an_axis_more_is_a_warning_and_its_elements_are_compared() -> None:
    source = changed(PRODUCT, "        return y\n", "        return y[:, None]\n")
    assert [(f.code, f.severity) for f in told(source)] == [("KL765", "warning")]
    source = changed(source, "tl.maximum(acc, 0.0) * 2.0", "tl.maximum(acc, 0.0)")
    assert [(f.code, f.severity) for f in told(source)] == [("KL769", "error")]


def test_a_weight_that_makes_no_difference_yet_is_a_warning() -> None:
    source = changed(
        ROWS, "self.scale = nn.Parameter(torch.randn(width))", "self.scale = nn.Parameter(torch.ones(width))"
    )
    source = changed(source, "y = y * tl.load(w_ptr + i, mask=m, other=0.0) + ", "y = y + ")
    assert [(f.code, f.severity) for f in told(source)] == [("KL767", "warning")]


@pytest.mark.parametrize(
    "line",
    [
        "v = v * tl.sum(tl.arange(0, 1 << 20), axis=0)",
        "v = v + (1 << (1 << 30))",
        "for _ in range(1 << 40): v = v * v",
        "while tl.sum(v, axis=0) > 0: v = v + 1",
        "for _ in range(0, 10, n - n): v = v + 1",
        "n = n * n * n * n * n * n * n * n",
        "v = tl.load(x + (1 << 40) + i)",
        "v = tl.where(v, v, tl.inline_asm_elementwise('', '=r,r', [v], tl.float32, True, 1))",
        "v = tl.associative_scan(v, 0, None)",
        "i = i // (n - n)",
        "n = -n",
    ],
)
def test_hostile_kernels_end_in_silence_or_a_finding(line: str) -> None:
    source = textwrap.dedent(f"""
        import torch
        import triton
        import triton.language as tl

        class Model(torch.nn.Module):
            def forward(self, x):
                return x * 2

        @triton.jit
        def double(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            v = tl.load(x + i, mask=i < n, other=0.0)
            {line}
            tl.store(y + i, v * 2, mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty_like(x)
                double[(1 << 20,)](x, y, x.numel(), BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(1 << 10, 1 << 20)]
        """)
    result = check_file(Job("kernel.py", source.encode(), FileSettings(CODES | {"KL902", "KL903"})))
    assert not [f for f in result.findings if f.code == "KL902" and "crash" in f.message.lower()]


def test_the_settings_of_a_layer_count() -> None:
    source = changed(ROWS, "torch.nn.functional.gelu(y)", 'nn.GELU("tanh")(y)')
    assert told(source) == []  # an approximation of the same function
    source = changed(ROWS, "return torch.nn.functional.gelu(y)", "return nn.LeakyReLU(0.3)(y)")
    gelu = "0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))"
    assert told(changed(source, gelu, "tl.where(y > 0, y, 0.3 * y)")) == []
    assert [f.code for f in told(changed(source, gelu, "tl.where(y > 0, y, 0.01 * y)"))] == ["KL769"]


def test_the_smallest_along_an_axis_is_no_minimum_with_a_number() -> None:
    source = changed(ROWS, "return torch.nn.functional.gelu(y)", "return y.min(dim=1).values")
    source = changed(
        source, "    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))\n", "    y = tl.where(m, y, float('inf'))\n"
    )
    source = changed(source, "tl.store(y_ptr + row * n + i, y, mask=m)", "tl.store(y_ptr + row, tl.min(y, axis=0))")
    source = changed(source, "y = torch.empty_like(x)", "y = torch.empty(rows, device=x.device)")
    assert told(source) == []
    assert [f.code for f in told(changed(source, "tl.min(y", "tl.max(y"))] == ["KL769"]


ELEMENTS = """
import torch
import triton
import triton.language as tl


class Model(torch.nn.Module):
    def forward(self, x):
        return REFERENCE


@triton.jit
def each(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    LINES
    tl.store(y + i, v, mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        each[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y


def get_inputs():
    return [INPUT]
"""


@pytest.mark.parametrize(
    ("reference", "lines", "given"),
    [
        (  # a hash that wraps around
            "((x.to(torch.int64) * 40503 * 40503) & 0xFFFFFFFF).to(torch.int32)",
            "v = v.to(tl.uint32) * 40503 * 40503\n    v = v.to(tl.int32)",
            "torch.randint(0, 100000, (64, 100), dtype=torch.int32)",
        ),
        (
            "(x.to(torch.int32) * 3 % 256).to(torch.uint8)",
            "v = (v.to(tl.int32) * 3).to(tl.uint8)",
            "torch.randint(0, 255, (64, 100), dtype=torch.uint8)",
        ),
        (
            "(x.to(torch.int32) * 3 % 256).to(torch.uint8)",
            "v = v.to(tl.int32) * 3",
            "torch.randint(0, 255, (64, 100), dtype=torch.uint8)",
        ),
        (
            "torch.where(torch.isnan(torch.log(x)), 5.0, torch.sigmoid(torch.log(x)))",
            "s = tl.sigmoid(tl.log(v))\n    v = tl.where(s != s, 5.0, s)",
            "torch.randn(64, 100)",
        ),
        ("x * 2", "t = tl.where(i % 3 == 1, 3, 1)\n" + "    t = t * t\n" * 45 + "    v += tl.sum(t)", "torch.randn(64, 100)"),
        ("x * 2", "v = v + (i >> -1) + (i << (i - 5)) + ((i - 3) >> (i - 9))", "torch.randn(64, 100)"),
    ],
)  # fmt: skip
def test_numbers_that_types_do_not_hold_prove_nothing(reference: str, lines: str, given: str) -> None:
    source = ELEMENTS.replace("REFERENCE", reference).replace("LINES", lines).replace("INPUT", given)
    assert not told(source)
