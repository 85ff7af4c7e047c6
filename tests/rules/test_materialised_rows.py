"""KL310: rows that are picked or repeated into a tensor which only a kernel reads."""

from __future__ import annotations

import pytest
from support.findings import run_rule

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
