"""KL310: rows that are picked or repeated into a tensor which only a kernel reads."""

from __future__ import annotations

import pytest
from support.findings import run_rule

from kernlint.workload import TorchOp

PROGRAM = """
@triton.jit
def scores(q, k, out, S, D: tl.constexpr, BLOCK: tl.constexpr):
    head, d = tl.program_id(0), tl.arange(0, D)
    s = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(q + head * D + d)
    keys = tl.load(k + (head * S + s)[:, None] * D + d[None, :], mask=(s < S)[:, None], other=0.0)
    tl.store(out + head * S + s, tl.sum(keys * row[None, :], axis=1), mask=s < S)

class ModelNew(torch.nn.Module):
    def forward(self, q, k):
        b, h, d = q.shape
        g, s = h // k.shape[1], k.shape[2]
        k = REPEAT
        out = torch.empty(b, h, s, device=q.device)
        scores[(b * h, triton.cdiv(s, 64))](q, k, out, s, D=d, BLOCK=64)
        return out

def get_inputs():
    return [torch.randn(4, 32, 128), torch.randn(4, 4, 2048, 128)]
"""


@pytest.mark.parametrize(
    "repeat",
    [
        pytest.param("k.repeat_interleave(g, dim=1)", id="repeat_interleave"),
        pytest.param("k[:, :, None].expand(b, k.shape[1], g, s, d).reshape(b, h, s, d)", id="an expanded view, copied"),
        pytest.param("k.unsqueeze(2).expand(-1, -1, g, -1, -1).flatten(1, 2)", id="flattened"),
        pytest.param("k[:, torch.arange(h, device=k.device) // g]", id="indexed"),
    ],
)
def test_found(repeat: str) -> None:
    (finding,) = run_rule("KL310", PROGRAM.replace("REPEAT", repeat)).findings
    assert finding.kernel == "scores"


@pytest.mark.parametrize(
    "repeat",
    [
        pytest.param("k.transpose(1, 2).reshape(b, k.shape[1], s, d)", id="a copy of other strides"),
        pytest.param("k.expand(4, 4, s, d).reshape(b, k.shape[1], s, d)", id="nothing expanded"),
        pytest.param("k.clone()", id="a plain copy"),
    ],
)
def test_silent(repeat: str) -> None:
    assert not run_rule("KL310", PROGRAM.replace("REPEAT", repeat))


def test_tensors_for_one_kernel_are_one_finding() -> None:
    both = PROGRAM.replace("REPEAT", "k.repeat_interleave(g, dim=1)")
    both = both.replace("scores[(b * h", "q = q[torch.arange(b, device=q.device)]\n        scores[(b * h")
    (finding,) = run_rule("KL310", both).findings
    assert "`repeat_interleave` of `k`" in finding.message and "`q`" in finding.message


PAGES = """
@triton.jit
def activate(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.sigmoid(tl.load(x + i, mask=i < n).to(tl.float32)).to(tl.float16), mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, pool, ids):
        x = PICKED
        y = torch.empty_like(x)
        activate[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), BLOCK=4096)
        return y

def get_inputs():
    return [torch.randn(4096, 32, 128).half(), torch.randint(0, 4096, (2048,))]
"""


@pytest.mark.parametrize(
    "picked",
    [
        pytest.param("pool[ids]", id="an index"),
        pytest.param("pool[ids, :]", id="and a slice"),
        pytest.param("pool[ids.view(32, 64)]", id="an index of two axes"),
        pytest.param("pool.index_select(0, ids)", id="index_select"),
        pytest.param("torch.nn.functional.embedding(ids, pool.view(4096, 4096))", id="embedding"),
    ],
)
def test_whole_pages_cost_what_they_move(picked: str) -> None:
    """However the pages are picked: 16.8 MB are read and written, in blocks of 4 KB."""
    found = run_rule("KL310", PAGES.replace("PICKED", picked))
    finding = found.only()
    assert "`pool`" in finding.message
    (context,) = found.contexts
    gather = next(
        row for row in context.estimate(context.workload).steps if isinstance(row.step, TorchOp) and row.gpu_us
    )
    assert 5 < gather.gpu_us < 15
