"""KL402 where of a product only a reduction of its rows is wanted."""

from __future__ import annotations

import pytest
from support.findings import run_rule

from kernlint.workload import Dot, Loop, Store

#: Logits of a vocabulary, of which a loss wants one number a token.
LOGITS = """
@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tl.load(b + n[None, :] * K + (start + k)[:, None], mask=n[None, :] < N, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(32000))

    def forward(self, x, w):
        tokens, vocabulary = x.shape[0], w.shape[0]
        c = torch.empty(tokens, vocabulary, device=x.device)
        grid = (triton.cdiv(tokens, 128), triton.cdiv(vocabulary, 128))
        matmul[grid](x, w, c, tokens, vocabulary, x.shape[1], BM=128, BN=128, BK=64, num_warps=8)
        return c.logsumexp(dim=-1)

def get_inputs():
    return [torch.randn(4096, 256, dtype=torch.float16), torch.randn(32000, 256, dtype=torch.float16)]
"""
RESULT = "return c.logsumexp(dim=-1)"
#: Programs that are numbered along one axis, rows of tiles in groups.
GROUPED = LOGITS.replace(
    "    m = tl.program_id(0) * BM + tl.arange(0, BM)\n    n = tl.program_id(1) * BN + tl.arange(0, BN)\n",
    "    columns = tl.cdiv(N, BN)\n"
    "    m = tl.program_id(0) // columns * BM + tl.arange(0, BM)\n"
    "    n = tl.program_id(0) % columns * BN + tl.arange(0, BN)\n",
).replace("grid = (triton.cdiv(tokens, 128), triton.cdiv(vocabulary, 128))", "grid = (32 * 250,)")
#: A batch of small products, one tile wide; a mask; two reductions, one behind the other.
BATCHED = """
@triton.jit
def products(q, k, out, LQ, LK, D: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr):
    i, j, d = tl.arange(0, BQ), tl.arange(0, BK), tl.arange(0, D)
    one = tl.program_id(0)
    a = tl.load(q + one * LQ * D + i[:, None] * D + d[None, :], mask=i[:, None] < LQ, other=0.0)
    b = tl.load(k + one * LK * D + j[None, :] * D + d[:, None], mask=j[None, :] < LK, other=0.0)
    at = out + one * LQ * LK + i[:, None] * LK + j[None, :]
    tl.store(at, tl.dot(a, b), mask=(i[:, None] < LQ) & (j[None, :] < LK))

class ModelNew(torch.nn.Module):
    def forward(self, q, k, keep):
        n, lq, lk = q.shape[0], q.shape[1], k.shape[1]
        s = torch.empty(n, lq, lk, device=q.device)
        products[(n,)](q, k, s, lq, lk, D=64, BQ=32, BK=128)
        s = torch.where(keep[:, None, :], s, -1e4)
        return s.amax(dim=2).mean(dim=1)

def get_inputs():
    half = dict(dtype=torch.float16)
    return [torch.randn(4096, 24, 64, **half), torch.randn(4096, 100, 64, **half), torch.rand(4096, 100) > 0.1]
"""


@pytest.mark.parametrize(
    ("source", "launches", "calls"),
    [
        pytest.param(LOGITS, 1, ["logsumexp"], id="partial sums"),
        pytest.param(GROUPED, 1, ["logsumexp"], id="programs along one axis"),
        pytest.param(LOGITS.replace(RESULT, "return torch.amax(c + self.bias, 1)"), 1, ["amax"], id="a bias in between"),
        pytest.param(LOGITS.replace(RESULT, "return (self.bias - 2 * c).argmin(-1)"), 1, ["argmin"], id="nearest of many"),
        pytest.param(LOGITS.replace(RESULT, "c.mul_(0.5); return c.sum(-1, keepdim=True)"), 1, ["sum"], id="in place"),
        pytest.param(LOGITS.replace("acc, mask=(m", "acc.to(tl.float32), mask=(m"), 1, ["logsumexp"], id="a cast"),
        pytest.param(BATCHED, 1, [], id="a batch, all in registers"),
        pytest.param(BATCHED.replace(".mean(dim=1)", ""), 1, [], id="a batch, a value a row"),
        pytest.param(BATCHED.replace("torch.where(keep[:, None, :], s, -1e4)", "s.masked_fill(~keep.unsqueeze(1), -1e4)"), 1, [],
                     id="masked_fill"),
    ],
)  # fmt: skip
def test_found(source: str, launches: int, calls: list[str]) -> None:
    found = run_rule("KL402", source)
    (finding,), (context,) = found.findings, found.contexts
    workload = found.after()
    assert "to reduce each row" in finding.message
    assert len(workload.launches()) == launches
    left = [step.name for step, _ in workload.walk() if getattr(step, "kind", "") == "reduce"]
    assert left in ([], calls)
    assert finding.change is not None and finding.change.variant is not None
    before, after = context.gpu_us(context.variant), context.gpu_us(finding.change.variant)
    assert before is not None and after is not None and after < before / 1.2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(RESULT, "return c, c.logsumexp(dim=-1)", id="the product is returned"),
        pytest.param(RESULT, "top = c.amax(-1); return top, (c - top[:, None]).sum(-1)", id="used twice"),
        pytest.param(RESULT, "return c.logsumexp(dim=0)", id="along the other axis"),
        pytest.param(RESULT, "return c.softmax(-1)", id="as many values as before"),
        pytest.param(RESULT, "return c.std(-1)", id="no reduction of parts"),
        pytest.param(RESULT, "return c.topk(4)", id="several values a row"),
        pytest.param(RESULT, "return c[:, :100].sum(-1)", id="part of a row"),
        pytest.param(RESULT, "return c.t().reshape(tokens, -1).sum(-1)", id="rows of another order"),
        pytest.param(RESULT, "return c.view(vocabulary, tokens).sum(-1)", id="rows of another length"),
        pytest.param(RESULT, "return c.cumsum(-1).amax(-1)", id="a scan in between"),
        pytest.param(RESULT, "self.kept = c; return c.sum(-1)", id="kept on the model"),
        pytest.param(RESULT, "torch.save(c, 'c'); return c.sum(-1)", id="handed to somebody"),
        pytest.param("tl.store(c", "tl.atomic_add(c", id="sums of several programs"),
        pytest.param(RESULT, "w.zero_(); return c.sum(-1)", id="an operand is changed first"),
        pytest.param("tl.store(c + m[:, None] * N + n[None, :]", "tl.store(c + m[:, None] + n[None, :] * M", id="columns"),
    ],
)  # fmt: skip
def test_not_found(old: str, new: str) -> None:
    assert old in LOGITS
    assert not any("to reduce each row" in f.message for f in run_rule("KL402", LOGITS.replace(old, new)).findings)


def test_the_kernel_keeps_the_maximum() -> None:
    """A loop over the blocks of a row where few columns leave enough programs."""
    source = BATCHED.replace("BK=128", "BK=32").replace("[(n,)]", "[(n, triton.cdiv(lk, 32))]")
    source = source.replace("tl.arange(0, BK), tl", "tl.program_id(1) * BK + tl.arange(0, BK), tl")
    found = run_rule("KL402", source)
    (launch,) = found.after().launches()
    (loop,) = [node for node in launch.kernel.body if isinstance(node, Loop)]
    assert loop.trip == 4 and any(isinstance(node, Dot) for node in loop.body)
    assert launch.grid == (4096, 1)
    (store,) = [node for node, _ in launch.kernel.walk(Store)]
    assert isinstance(store, Store) and store.shape == ()


#: The rows reduced by a kernel of the author's.
BY_KERNEL = (
    """
@triton.jit
def top(s, best, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(s + row * N + i, mask=i < N, other=-1e9) * 0.125
    tl.store(best + row, tl.max(v, axis=0) + 1.0)
"""
    + LOGITS
).replace(
    RESULT,
    "best = torch.empty(tokens, device=c.device); top[(tokens,)](c, best, vocabulary, BLOCK=32768, num_warps=8); return best",
)


def test_reduced_by_a_kernel() -> None:
    found = run_rule("KL402", BY_KERNEL)
    finding = found.only()
    assert "only for `top` to reduce each row" in finding.message
    assert [launch.kernel.name for launch in found.after().launches()] == ["matmul"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("tl.store(best + row,", "tl.store(s + row * N + i, v, mask=i < N); tl.store(best + row,", id="rows are stored"),
        pytest.param("tl.max(v, axis=0)", "tl.sum(tl.exp(v - tl.max(v, axis=0)), axis=0)", id="two reductions"),
        pytest.param("tl.store(best + row,", "tl.store(best + N - row,", id="for another row"),
        pytest.param("s + row * N + i,", "s + row * N + i + 1,", id="rows that start elsewhere"),
        pytest.param("mask=i < N,", "mask=i < N // 2,", id="half a row"),
        pytest.param("return best", "return best, c", id="the product is wanted"),
    ],
)  # fmt: skip
def test_not_reduced_by_a_kernel(old: str, new: str) -> None:
    assert old in BY_KERNEL
    assert not any("to reduce each row" in f.message for f in run_rule("KL402", BY_KERNEL.replace(old, new)).findings)
