"""KL401 to KL404: which launches and torch calls could be one, in the shapes that people write them; and which could not."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.rules.finding import Context, Finding
from kernlint.rules.registry import all_rules
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Load, Reduce, Store, TorchOp, Workload

GPU = find_device("h100-sxm")
RULES = [rule for rule in all_rules() if rule.code in ("KL401", "KL402", "KL403", "KL404")]

KERNELS = '''
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

@triton.jit
def bias_rows(x, b, y, N, BM: tl.constexpr, BN: tl.constexpr):
    """y[m, n] = x[m, n] + b[n] by two-dimensional tiles."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    at = m[:, None] * N + n[None, :]
    bias = tl.load(b + n)
    tl.store(y + at, tl.load(x + at) + bias[None, :])

@triton.jit
def scale_row(x, s, y, N, BLOCK: tl.constexpr):
    """One row a program, scaled by its own factor."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    f = tl.load(s + row)
    tl.store(y + row * N + i, tl.load(x + row * N + i, mask=i < N) * f, mask=i < N)

@triton.jit
def biased(x, b, y, n, N, BLOCK: tl.constexpr):
    """y = x + b, or what x is where there is no b."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if b is not None:
        v += tl.load(b + i % N, mask=i < n)
    tl.store(y + i, v, mask=i < n)

@triton.jit
def shifted(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    tl.store(y + i, tl.load(x + i, mask=i < n) - left, mask=i < n)

@triton.jit
def transposed(x, y, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(y + n[None, :] * M + m[:, None], tl.load(x + m[:, None] * N + n[None, :]))

@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * N + i, e / tl.sum(e, axis=0), mask=i < N)

@triton.jit
def row_sum(x, total, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(total + row, tl.sum(tl.load(x + row * N + i, mask=i < N, other=0.0), axis=0))

@triton.jit
def row_sum_tiled(x, total, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r[:, None] * N + i[None, :], mask=i[None, :] < N, other=0.0)
    tl.store(total + r, tl.sum(v, axis=1))

@triton.jit
def row_sum_looped(x, total, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(x + row * N + i, mask=i < N, other=0.0)
    tl.store(total + row, tl.sum(acc, axis=0))

@triton.jit
def column_sum(x, total, M, N, BM: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = tl.arange(0, BM)
    v = tl.load(x + m[:, None] * N + n[None, :], mask=m[:, None] < M, other=0.0)
    tl.store(total + n, tl.sum(v, axis=0))

@triton.jit
def divide_row(x, total, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0.0)
    tl.store(y + row * N + i, v / tl.load(total + row), mask=i < N)

@triton.jit
def divide_row_tiled(x, total, y, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, BLOCK)
    at = r[:, None] * N + i[None, :]
    v = tl.load(x + at, mask=i[None, :] < N, other=0.0)
    tl.store(y + at, v / tl.load(total + r)[:, None], mask=i[None, :] < N)

@triton.jit
def divide_flat(x, total, y, n, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) / tl.load(total + i // N, mask=i < n), mask=i < n)

@triton.jit
def divide_column(x, total, y, n, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) / tl.load(total + i % N, mask=i < n), mask=i < n)

@triton.jit
def divide_blocks(x, total, y, N, BLOCK: tl.constexpr):
    """Rows by blocks of columns."""
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N)
    tl.store(y + row * N + i, v / tl.load(total + row), mask=i < N)

@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))

@triton.autotune([triton.Config({"BM": 64, "BN": 64}), triton.Config({"BM": 128, "BN": 128}, num_warps=8)], key=["M", "N"])
@triton.jit
def tuned(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))

def grid_of(n):
    return lambda meta: (triton.cdiv(n, meta["BLOCK"]),)

def twice(x):
    """A helper that launches."""
    out = torch.empty_like(x)
    double[grid_of(x.numel())](x=x, y=out, n=x.numel(), BLOCK=512)
    return out

def product(a, b):
    c = torch.empty(a.shape[0], b.shape[1], dtype=torch.float16)
    matmul[(16, 32)](a, b, c, 2048, 4096, 1024, BM=128, BN=128, BK=64, num_warps=8)
    return c
'''

#: [4096, 4000] fp32, and what goes with it.
ROWS = (
    "x, r, w, s = torch.randn(4096, 4000), torch.randn(4096, 4000), torch.randn(4000), torch.randn(4096)",
    "x, r, w, s",
)
PRODUCT = (
    "a, b, bias, r, s = (torch.randn(*d, dtype=torch.float16) for d in ((2048, 1024), (1024, 4096), (4096,), "
    "(2048, 4096), (2048, 1)))",
    "a, b, bias, r, s",
)


def program(body: str, inputs: tuple[str, str], init: str = "pass") -> str:
    make, names = inputs
    return (
        f"{KERNELS}\n"
        "class ModelNew(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        f"{textwrap.indent(init, ' ' * 8)}\n"
        f"    def forward(self, {names}):\n"
        f"{textwrap.indent(textwrap.dedent(body).strip(), ' ' * 8)}\n\n"
        "def get_inputs():\n"
        f"    {make}\n"
        f"    return [{names}]\n"
    )


def context_of(source: str) -> Context:
    read = Program(parse_module(source, "example.py"), None, Question(host=host_facts(GPU)))
    (workload,) = read.workloads()
    assert not workload.unknowns
    return Context(read, workload, GPU, price=lambda w: estimate(w, GPU))


def found_in(source: str) -> list[tuple[Finding, Workload]]:
    """Findings of the fusion rules with the workload after each change."""
    context = context_of(source)
    result = []
    for rule in RULES:
        for finding in context.ask(rule):
            assert finding.change is not None
            # A cause of the headroom has no program after it: it is written anew.
            after = context.after(finding.change.variant) if finding.cause is None else context.workload
            assert after is not None
            result.append((finding, after))
    return result


def device_steps(workload: Workload) -> list[str]:
    """What runs on the device, in order."""
    names = []
    for step, _ in workload.walk():
        if isinstance(step, Launch):
            names.append(step.kernel.name)
        elif isinstance(step, TorchOp) and step.kind != "alloc":
            names.append(step.name)
    return names


FOUND = [
    pytest.param(
        """
        h, y = torch.empty_like(x), torch.empty_like(x)
        double[grid_of(x.numel())](x, h, x.numel(), BLOCK=1024)
        double[grid_of(x.numel())](h, y, x.numel(), BLOCK=2048)
        return y
        """, ROWS, "KL401", 1, id="elementwise kernels with different blocks",
    ),
    pytest.param("return twice(twice(twice(x)))", ROWS, "KL401", 1, id="one helper called three times"),
    pytest.param(
        """
        h = twice(x)
        bias_rows[(256, 125)](h, w, h, 4000, BM=16, BN=32)
        return h
        """, ROWS, "KL401", 1, id="second kernel in place, by two-dimensional tiles",
    ),
    pytest.param(
        """
        h, y = torch.empty_like(x), torch.empty_like(x)
        bias_rows[(256, 125)](x, w, h, 4000, BM=16, BN=32)
        scale_row[(4096,)](h, s, y, N=4000, BLOCK=4096)
        return y
        """, ROWS, "KL401", 1, id="tiles, then rows with a factor each",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        double[grid_of(x.numel())](x, y, x.numel(), BLOCK=1024)
        y = torch.nn.functional.silu(y) * w
        return y + r
        """, ROWS, "KL401", 1, id="torch calls behind an elementwise kernel",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        softmax[(4096,)](x, y, 4000, BLOCK=4096)
        y *= 0.5
        return y
        """, ROWS, "KL401", 1, id="torch call in place behind a row kernel",
    ),
    pytest.param(
        """
        h = x + r
        y = torch.empty_like(x)
        softmax[(4096,)](h, y, 4000, BLOCK=4096)
        return y
        """, ROWS, "KL401", 1, id="torch call in front of a row kernel",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        softmax[(4096,)](twice(x), y, 4000, BLOCK=4096)
        return y
        """, ROWS, "KL401", 1, id="elementwise kernel in front of a row kernel",
    ),
    pytest.param(
        """
        out = torch.empty(4, 4096, 4000)
        for i in range(4):
            h = torch.empty_like(x)
            double[grid_of(x.numel())](x, h, x.numel(), BLOCK=1024)
            double[grid_of(x.numel())](h, out[i], x.numel(), BLOCK=1024)
        return out
        """, ROWS, "KL401", 1, id="in a Python loop",
    ),
    pytest.param("return torch.relu(product(a, b) + bias)", PRODUCT, "KL402", 1, id="torch epilogue of a matmul"),
    pytest.param("return product(a, b) * s + r", PRODUCT, "KL402", 1, id="row factors and a residual"),
    pytest.param("return product(a, b).float() * 0.125", PRODUCT, "KL402", 1, id="cast and scale"),
    pytest.param(
        """
        c = product(a, b)
        y = torch.empty_like(c)
        bias_rows[(128, 64)](c, bias, y, 4096, BM=16, BN=64)
        return twice(y)
        """, PRODUCT, "KL402", 1, id="epilogue kernels of other shapes",
    ),
    pytest.param(
        """
        c = torch.empty(2048, 4096, dtype=torch.float16)
        tuned[lambda m: (2048 // m["BM"], 4096 // m["BN"])](a, b, c, 2048, 4096, 1024, BK=32)
        return torch.nn.functional.gelu(c + bias)
        """, PRODUCT, "KL402", 1, id="autotuned matmul",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_row[(4096,)](x, t, y, 4000, BLOCK=4096)
        return y
        """, ROWS, "KL403", 1, id="statistic and use, one row a program",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum_tiled[(1024,)](x, t, 4000, ROWS=4, BLOCK=4096)
        divide_row_tiled[(1024,)](x, t, y, 4000, ROWS=4, BLOCK=4096)
        return y
        """, ROWS, "KL403", 1, id="several rows a program",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_flat[grid_of(x.numel())](x, t, y, x.numel(), 4000, BLOCK=1024)
        return y
        """, ROWS, "KL403", 1, id="use by flat blocks",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_blocks[(4096, triton.cdiv(4000, 512))](x, t, y, N=4000, BLOCK=512)
        return y
        """, ROWS, "KL403", 1, id="use by blocks of columns",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum_tiled[(1024,)](x, t, 4000, ROWS=4, BLOCK=4096)
        divide_row[(4096,)](x, t, y, 4000, BLOCK=4096)
        return y
        """, ROWS, "KL403", 1, id="statistics of several rows a program, used by one",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_row[(4096,)](x, t, y, 4000, BLOCK=4096)
        return y, t
        """, ROWS, "KL403", 1, id="statistic returned too",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_row[(4096,)](x, t, y, 4000, BLOCK=4096)
        return torch.relu(y)
        """, ROWS, "KL403", 1, id="with an activation behind",
    ),
    pytest.param(
        """
        h, y = torch.empty_like(x), torch.empty_like(x)
        double[grid_of(x.numel())](x, h, x.numel(), BLOCK=1024)
        biased[grid_of(x.numel())](h, None, y, x.numel(), 4000, BLOCK=1024)
        return y
        """, ROWS, "KL401", 1, id="an argument left out",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "inputs", "code", "steps"), FOUND)
def test_found(body: str, inputs: tuple[str, str], code: str, steps: int) -> None:
    source = program(body, inputs)
    ((finding, after),) = found_in(source)
    assert finding.rule.code == code
    assert len(device_steps(after)) == steps
    assert finding.symbol == "ModelNew.forward"
    assert finding.change is not None


SILENT = [
    pytest.param("h = twice(x)\nreturn h, twice(h)", ROWS, id="the intermediate is returned"),
    pytest.param("h = twice(x)\ny = twice(h)\nreturn y, h.sum()", ROWS, id="the intermediate is read twice"),
    pytest.param(
        """
        h, y = twice(x), torch.empty_like(x)
        shifted[grid_of(x.numel())](h, y, x.numel(), BLOCK=1024)
        return y
        """, ROWS, id="a stencil",
    ),
    pytest.param(
        """
        h, y = torch.empty(4096, 4096), torch.empty(4096, 4096)
        softmax[(4096,)](x, h, 4096, BLOCK=4096)
        transposed[(128, 128)](h, y, 4096, 4096, B=32)
        return y
        """, ROWS, id="a transposing consumer",
    ),
    pytest.param(
        """
        h = torch.empty_like(x)
        double[grid_of(x.numel())](x, h, x.numel(), BLOCK=1024)
        x.zero_()
        double[grid_of(x.numel())](h, x, x.numel(), BLOCK=1024)
        return x
        """, ROWS, id="the input is overwritten between",
    ),
    pytest.param(
        """
        h = twice(x)
        torch.cuda.synchronize()
        return twice(h)
        """, ROWS, id="the host waits between",
    ),
    pytest.param("y = twice(x)\nreturn torch.dropout(y, 0.5, True)", ROWS, id="random numbers"),
    pytest.param("y = twice(x)\nreturn y.to(torch.float16)", ROWS, id="only a cast, which is another rule's"),
    pytest.param("return twice(x.to(torch.float32))", ROWS, id="only a cast in front"),
    pytest.param("y = twice(x)\nreturn y.sum(-1)", ROWS, id="a torch reduction behind"),
    pytest.param("y = twice(x)\nreturn torch.relu(y[:, :2000])", ROWS, id="only a part is used"),
    pytest.param(
        """
        f = w * 2.0
        y = torch.empty_like(x)
        divide_column[grid_of(x.numel())](x, f, y, x.numel(), 4000, BLOCK=1024)
        return y
        """, ROWS, id="a vector that each row reads again",
    ),
    pytest.param(
        """
        f = w + 1.0
        y = torch.empty_like(x)
        bias_rows[(256, 125)](x, f, y, 4000, BM=16, BN=32)
        return y
        """, ROWS, id="a vector that many programs read",
    ),
    pytest.param("return product(a * 2.0, b)", PRODUCT, id="in front of a matmul with many column tiles"),
    pytest.param("c = product(a, b)\nreturn c, torch.relu(c)", PRODUCT, id="the product is returned"),
    pytest.param("return product(a, b)", PRODUCT, id="a matmul alone"),
    pytest.param("return product(a, b).sum(0)", PRODUCT, id="a sum over the rows of a product"),
    pytest.param("return product(a, b) @ r.t()", PRODUCT, id="a product of a product"),
    pytest.param(
        """
        y = torch.empty(2048, 4096, dtype=torch.float16)
        softmax[(2048,)](product(a, b), y, 4096, BLOCK=4096)
        return y
        """, PRODUCT, id="rows that several tiles of the product make up",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum_looped[(4096,)](x, t, 4000, BLOCK=1024)
        divide_row[(4096,)](x, t, y, 4000, BLOCK=4096)
        return y
        """, ROWS, id="rows that were walked in chunks",
    ),
    pytest.param(
        """
        t, y = torch.empty(4000), torch.empty_like(x)
        column_sum[(125,)](x, t, 4096, 4000, BM=4096, BN=32)
        divide_column[grid_of(x.numel())](x, t, y, x.numel(), 4000, BLOCK=1024)
        return y
        """, ROWS, id="column sums used by flat blocks are the same columns' only",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_row[(4096,)](r, t, y, 4000, BLOCK=4096)
        return y
        """, ROWS, id="statistics of another tensor",
    ),
    pytest.param(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_column[grid_of(x.numel())](x, t, y, x.numel(), 4096, BLOCK=1024)
        return y
        """, ROWS, id="statistics of other rows",
    ),
    pytest.param("return x.sum(-1), twice(r)", ROWS, id="one torch call"),
    pytest.param("return torch.relu(x + r), twice(r)", ROWS, id="two torch calls"),
    pytest.param("return torch.nn.functional.rms_norm(x, (4000,), w), twice(r)", ROWS, id="torch's own norm"),
    pytest.param("return x.pow(2).mean(0, keepdim=True).sqrt(), twice(r)", ROWS, id="a reduction over columns"),
    pytest.param("return torch.sigmoid(s[:64]) * s[:64] + 1.0, twice(r)", ROWS, id="a handful of numbers"),
    pytest.param("return torch.sigmoid(x) * r + w", ROWS, id="no Triton launch at all"),
]  # fmt: skip


IN_TORCH = [
    pytest.param(
        """
        v = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(v + 1e-6) * w, twice(r)
        """, id="RMSNorm in torch",
    ),
    pytest.param(
        """
        f = (x.abs().amax(dim=-1) / 127.0).clamp(min=1e-8)
        q = (x / f.unsqueeze(-1)).round().clamp(-128, 127).to(torch.int8)
        return q, f, twice(r)
        """, id="quantisation in torch",
    ),
    pytest.param(
        """
        m = x.max(dim=1, keepdim=True)[0]
        e = torch.exp(x - m)
        return e / e.sum(dim=1, keepdim=True), twice(r)
        """, id="softmax in torch",
    ),
    pytest.param(
        "return (x.unsqueeze(1) * r[:8].unsqueeze(0)).sum(-1), twice(r)", id="broadcast product summed",
    ),
    pytest.param("return torch.sigmoid(x) * r + w, twice(r)", id="elementwise chain in torch"),
    pytest.param(
        "h = torch.sigmoid(x) * r + 1.0\nreturn h + h.t()[:, :1], twice(r)", id="an element and another one beside",
    ),
]  # fmt: skip


@pytest.mark.parametrize("body", IN_TORCH)
def test_torch_calls_are_named(body: str) -> None:
    """The cause is the headroom's, the name the rule's."""
    ((finding, _),) = found_in(program(body, ROWS))
    assert finding.rule.code == "KL404" and finding.symbol == "ModelNew.forward"
    assert finding.cause is not None and finding.cause.name in ("round trips", "copies")
    assert finding.change is not None and "in one kernel" in finding.change.method


@pytest.mark.parametrize(("body", "inputs"), SILENT)
def test_silent(body: str, inputs: tuple[str, str]) -> None:
    assert found_in(program(body, inputs)) == []


def test_a_buffer_of_the_module_is_still_written() -> None:
    body = "double[grid_of(x.numel())](x, self.h, x.numel(), BLOCK=1024)\nreturn twice(self.h)"
    assert found_in(program(body, ROWS, "self.h = torch.empty(4096, 4000)")) == []


def fused(body: str, inputs: tuple[str, str]) -> Launch:
    ((_, after),) = found_in(program(body, inputs))
    (launch,) = after.launches()
    return launch


def test_epilogue_reads_small_operands_by_the_tile() -> None:
    launch = fused("return torch.relu(product(a, b) + bias) * s", PRODUCT)
    by_tensor = {launch.arguments[load.base].name: load for load in launch.kernel.loads()}  # type: ignore[union-attr]
    assert by_tensor["bias"].shape == (128,)
    assert str(by_tensor["bias"].offset) == "lane0 + 128*pid1"
    assert by_tensor["s"].shape == (128,)
    assert str(by_tensor["s"].offset) == "lane0 + 128*pid0"
    (store,) = launch.kernel.stores()
    assert store.shape == (128, 128)
    assert store.depends >= {by_tensor["bias"].id, by_tensor["s"].id}


def test_every_autotuned_configuration_is_fused() -> None:
    launch = fused(
        """
        c = torch.empty(2048, 4096, dtype=torch.float16)
        tuned[lambda m: (2048 // m["BM"], 4096 // m["BN"])](a, b, c, 2048, 4096, 1024, BK=32)
        return torch.nn.functional.gelu(c + bias)
        """,
        PRODUCT,
    )
    shapes = {launch.kernel.stores()[0].shape, *(alt.kernel.stores()[0].shape for alt in launch.alternatives)}
    assert launch.autotuned
    assert shapes == {(64, 64), (128, 128)}
    assert all(len(one.kernel.loads()) == 3 for one in (launch, *launch.alternatives))


def test_row_is_read_once_and_statistics_are_gone() -> None:
    launch = fused(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_flat[grid_of(x.numel())](x, t, y, x.numel(), 4000, BLOCK=1024)
        return y
        """,
        ROWS,
    )
    kinds = [type(node) for node in launch.kernel.body if isinstance(node, (Load, Reduce, Store))]
    assert kinds == [Load, Reduce, Store]
    assert launch.grid == (4096,)


def test_a_returned_statistic_keeps_its_store() -> None:
    launch = fused(
        """
        t, y = torch.empty(4096), torch.empty_like(x)
        row_sum[(4096,)](x, t, 4000, BLOCK=4096)
        divide_row[(4096,)](x, t, y, 4000, BLOCK=4096)
        return y, t
        """,
        ROWS,
    )
    assert [store.shape for store in launch.kernel.stores()] == [(), (4096,)]
    assert len(launch.kernel.loads()) == 1


def test_prologue_keeps_the_consumers_tile() -> None:
    launch = fused(
        "y = torch.empty_like(x)\nsoftmax[(4096,)](x * w + r, y, 4000, BLOCK=4096, num_warps=8)\nreturn y", ROWS
    )
    assert launch.num_warps == 8
    offsets = {launch.arguments[n.base].name: str(n.offset) for n in launch.kernel.loads()}  # type: ignore[union-attr]
    assert offsets == {"x": "lane0 + 4000*pid0", "w": "lane0", "r": "lane0 + 4000*pid0"}


def test_arithmetic_on_a_kernels_small_by_product_is_info() -> None:
    body = "t = torch.empty(4096)\nrow_sum[(4096,)](x, t, 4000, BLOCK=4096)\nreturn torch.sqrt(t) + s"
    ((finding, after),) = found_in(program(body, ROWS))
    assert (finding.rule.code, finding.severity) == ("KL401", "info")
    assert device_steps(after) == ["row_sum"]


def test_open_sizes_are_found_without_a_price() -> None:
    source = KERNELS + textwrap.dedent(
        """
        def run(x):
            h, y = torch.empty_like(x), torch.empty_like(x)
            double[grid_of(x.numel())](x, h, x.numel(), BLOCK=1024)
            double[grid_of(x.numel())](h, y, x.numel(), BLOCK=1024)
            return y
        """
    )
    read = Program(parse_module(source, "example.py"), None, Question(entry="run", host=host_facts(GPU)))
    (workload,) = read.workloads()
    context = Context(read, workload, GPU, price=lambda w: estimate(w, GPU))
    (finding,) = [finding for rule in RULES for finding in context.ask(rule)]
    assert finding.rule.code == "KL401"
    assert finding.symbol == "run"
    assert context.gpu_us(context.variant) is None
