"""Programs that no rule knows: the headroom says what keeps them, and that it is worth mending."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.analysis import best_change, read_program
from kernlint.request import Request
from kernlint.verdict.search import first_of

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

#: Attention whose bias torch works out from the numbers of rows and columns.
TABLE = """
@triton.jit
def scores(q, bias, out, heads, N, BLOCK: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    column = tl.arange(0, BLOCK)
    inside = column < N
    s = tl.load(q + (head * N + row) * N + column, mask=inside, other=-float("inf"))
    s += tl.load(bias + (head * N + row) * N + column, mask=inside, other=0.0)
    e = tl.exp(s - tl.max(s, axis=0))
    tl.store(out + (head * N + row) * N + column, e / tl.sum(e, axis=0), mask=inside)

class ModelNew(torch.nn.Module):
    def forward(self, q, slopes):
        at = torch.arange(2048, device=q.device)
        bias = (slopes[:, None, None] * (at[None, :] - at[:, None])).to(torch.float16)
        out = torch.empty_like(q)
        scores[(2048, 16)](q, bias, out, 16, 2048, BLOCK=2048)
        return out

def get_inputs():
    return [torch.randn(16, 2048, 2048), torch.rand(16)]
"""


@pytest.mark.parametrize(
    ("source", "least"),
    [
        pytest.param(LOGITS, 2.0, id="a product of which each row is reduced"),
        pytest.param(LOGITS.replace(RESULT, "return torch.amax(c + self.bias, 1)"), 1.5, id="with a bias in between"),
        pytest.param(BATCHED, 1.4, id="a batch of small products"),
        pytest.param(TABLE, 1.5, id="a table of indices"),
    ],
)
def test_round_trips(source, least):
    judgement = best_change(read_program(Request(HEADER + textwrap.dedent(source), path="k.py", device="h100-sxm")))
    assert judgement.worth and judgement.headroom is not None
    assert judgement.headroom.causes[0].name == "round trips"
    proposal = first_of(judgement.search.asked, "gpu")
    assert proposal is not None and proposal.gains["gpu"].middle >= least
    assert judgement.chosen is not None and judgement.chosen.finding.rule.category == "fusion"


def test_a_product_of_one_tensor_with_itself() -> None:
    source = """
        @triton.jit
        def double(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty_like(x)
                double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
                return torch.einsum("iij->i", y)

        def get_inputs():
            return [torch.randn(64, 64, 512)]
        """
    judgement = best_change(read_program(Request(HEADER + textwrap.dedent(source), path="k.py", device="h100-sxm")))
    assert judgement.headroom is not None


#: A product for each segment, as both write it: how many rows one has is loaded.
GROUPED = """
@triton.jit
def grouped(x, w, out, offsets, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    group = tl.program_id(0)
    end = tl.load(offsets + group + 1)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    for row in range(tl.load(offsets + group), end, BM):
        m = row + tl.arange(0, BM)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            a = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < end, other=0.0)
            acc = tl.dot(a, tl.load(w + group * K * N + k[:, None] * N + n[None, :]), acc)
        tl.store(out + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < end)

class ModelNew(torch.nn.Module):
    def forward(self, x, w, offsets):
        out = torch.empty((x.shape[0], w.shape[2]), device=x.device, dtype=x.dtype)
        grouped[(w.shape[0], w.shape[2] // 128)](
            x, w, out, offsets, w.shape[2], x.shape[1], BM=64, BN=128, BK=32
        )
        return out

class Model(torch.nn.Module):
    def forward(self, x, w, offsets):
        return torch.cat([x[offsets[g] : offsets[g + 1]] @ w[g] for g in range(8)])

def get_inputs():
    half = dict(dtype=torch.float16)
    return [torch.randn(4096, 1024, **half), torch.randn(8, 1024, 2048, **half), torch.arange(0, 4097, 512)]
"""


def test_products_of_unknown_size_are_no_reason_to_do_without() -> None:
    judgement = best_change(read_program(Request(HEADER + GROUPED, path="k.py", device="h100-sxm")), assume=True)
    assert judgement.reference is not None and judgement.reference.gpu_us is None
    assert judgement.headroom is not None and judgement.headroom.library_us is None
    assert "needless product" not in [cause.name for cause in judgement.headroom.causes]
