"""KL404 where a kernel that holds the rows anyway can compute the statistic that torch computes for it."""

from __future__ import annotations

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def scale(x, rms, y, rows, N: tl.constexpr, LINES: tl.constexpr):
    r, c = tl.program_id(0) * LINES + tl.arange(0, LINES), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    v = tl.load(x + at, mask=(r < rows)[:, None]).to(tl.float32)
    tl.store(y + at, v * tl.load(rms + r, mask=r < rows)[:, None], mask=(r < rows)[:, None])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, n = x.shape
        rms = torch.rsqrt(x.float().pow(2).mean(dim=-1) + 1e-5)
        y = torch.empty_like(x)
        scale[(triton.cdiv(rows, 16),)](x, rms, y, rows, N=n, LINES=16)
        return y

def get_inputs():
    return [torch.randn(65536, 128, dtype=torch.float16)]
"""
ONE_ROW = """
    r, c = tl.program_id(0), tl.arange(0, LINES)
    v = tl.load(x + r * N + c, mask=c < N, other=0.0).to(tl.float32)
    tl.store(y + r * N + c, v * tl.load(rms + r), mask=c < N)
"""
BODY = PROGRAM[PROGRAM.index("    r, c") : PROGRAM.index("class ModelNew")]


def methods(source: str) -> str:
    return " ".join(f.change.method for f in run_rule("KL404", source).findings if f.change is not None)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(PROGRAM, id="several rows a program"),
        pytest.param(
            PROGRAM.replace(BODY, ONE_ROW).replace("(triton.cdiv(rows, 16),)", "(rows,)").replace("LINES=16", "LINES=128"),
            id="one row",
        ),
        pytest.param(PROGRAM.replace("x.float().pow(2)", "torch.square(x.to(torch.float32))"), id="other spellings"),
        pytest.param(PROGRAM.replace("rms, y, rows, N=n", "y=y, rms=rms, rows=rows, N=n"), id="keywords"),
    ],
)  # fmt: skip
def test_the_kernel_computes_it(source: str) -> None:
    assert "Let `scale` compute it" in methods(source)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("return y", "return y, rms", id="the caller wants the result"),
        pytest.param("return y", "return y * rms[:, None]", id="a further step wants it"),
        pytest.param("at = r[:, None] * N", "at = r[:, None] * N // 2", id="rows that start elsewhere"),
        pytest.param("tl.arange(0, N)", "tl.arange(0, N // 2)", id="half a row"),
        pytest.param("x.float().pow(2)", "(x * x).float()[:, :64].abs()", id="part of each row"),
        pytest.param("rms = torch.rsqrt(x.float()", "rms = torch.rsqrt(x.clone().float()", id="another tensor"),
    ],
)
def test_the_kernel_cannot(old: str, new: str) -> None:
    assert "Let `scale` compute it" not in methods(PROGRAM.replace(old, new))


def test_one_launch_is_left() -> None:
    found = run_rule("KL404", PROGRAM)
    (finding,), (context,) = found.findings, found.contexts
    assert finding.change is not None and finding.change.variant is not None
    workload = context.after(finding.change.variant)
    assert workload is not None
    assert [step.name for step, _ in workload.walk() if hasattr(step, "kind")] == ["empty_like"]
    before, after = context.gpu_us(context.variant), context.gpu_us(finding.change.variant)
    assert before is not None and after is not None and after < before / 3
