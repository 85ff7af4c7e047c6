"""KL404 as a rewrite: torch calls on the same rows become one kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fixed, needs_interpreter, refusal

SOURCE = """
    @triton.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    ROWS, N = 8192, 3000

    class ModelNew(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.eps = 1e-6

        def forward(self, x, w, other):
            y = torch.empty_like(other)
            copy[(triton.cdiv(other.numel(), 1024),)](other, y, other.numel(), BLOCK=1024)
{body}

    def get_inputs():
        return [torch.randn(ROWS, N, dtype=torch.float16), torch.rand(N) + 0.5, torch.randn(1024)]
"""
BODIES = {
    "rms norm": """
            v = x.float().pow(2).mean(-1, keepdim=True)
            return (x.float() * torch.rsqrt(v + self.eps) * w).to(x.dtype), y""",
    "softmax": """
            z = x.float()
            e = torch.exp(z - z.amax(dim=-1, keepdim=True))
            return (e / e.sum(-1, keepdim=True)).half(), y""",
    "norm of rows": """
            h = x.float()
            s = (h * h).sum(-1)
            n = torch.sqrt(s + 1.0).unsqueeze(-1)
            return h / n * 2.0, y""",
    "a statistic is the result": """
            h = x.float() * w
            m = h.mean(-1, keepdim=True)
            return torch.sigmoid(m), y""",
}  # fmt: skip


def source(body: str) -> str:
    return SOURCE.format(body=body.strip("\n"))


@needs_interpreter
@pytest.mark.parametrize("case", BODIES)
def test_the_same_rows(case: str, tmp_path: Path) -> None:
    before = source(BODIES[case])
    after = fixed(before, "KL404")
    assert after.count("row_kernel[") == 1
    small = ("ROWS, N = 8192, 3000", "ROWS, N = 5, 37")
    assert_same_results(tmp_path, before.replace(*small), after.replace(*small), tolerance=2e-3)


def test_the_text() -> None:
    after = fixed(source(BODIES["rms norm"]), "KL404")
    assert "def row_kernel(x, eps, w, out, N, BLOCK: tl.constexpr):" in after
    assert "    v = tl.sum(tl.where(inside, value, 0.0), axis=0) / N\n" in after
    assert "rows_out = torch.empty(x.shape, device=x.device, dtype=x.dtype)" in after
    assert "        return rows_out, y\n" in after
    assert ".pow(2)" not in after
    # No name of the kernel is one that the host has for something else.
    assert after.index("def row_kernel") < after.index("class ModelNew")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(
            "            v = x.float().pow(2).mean(-1, keepdim=True)\n"
            "            return (x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype), y, v",
            "`v` is used|no longer|does not lead|", id="two results",
        ),
        pytest.param(
            "            v = x.float().pow(2).var(-1, keepdim=True)\n"
            "            return (x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype), y",
            "torch `var`", id="a reduction without a form",
        ),
        pytest.param(
            "            v = x.float().pow(2).mean(-1, keepdim=True)\n"
            "            w = w + 1\n"
            "            return (x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype), y",
            "changes in the function", id="a name with two values",
        ),
        pytest.param(
            "            v = x.float().pow(2).mean(-1, keepdim=True)\n"
            "            return ((x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype) if y.numel() else x), y",
            "not always made", id="in a condition",
        ),
        pytest.param(
            "            h = x.float() * 100\n            s = h.amax(-1, keepdim=True)\n"
            "            return torch.round(h / s).to(torch.int8), y",
            "int8", id="integers",
        ),
    ],
)  # fmt: skip
def test_left_alone(body: str, why: str) -> None:
    reason = refusal(source(body), "KL404")
    assert any(part in reason for part in why.split("|")), reason
