"""KL404 where a kernel that holds the rows anyway can compute the statistic that torch computes for it."""

from __future__ import annotations

import pytest
from support.findings import run_rule

from kernlint.workload import Store

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
        pytest.param("tl.load(rms + r,", "tl.load(rms + rows - 1 - r,", id="the value of another row"),
        pytest.param("y = torch.empty_like(x)", "y = torch.empty_like(x); rms.mul_(2)", id="changed by another step"),
        pytest.param("y = torch.empty_like(x)", "y = torch.empty_like(x); x.add_(1)", id="the rows are changed"),
        pytest.param("at = r[:, None] * N", "at = r[:, None] * N // 2", id="rows that start elsewhere"),
        pytest.param("tl.arange(0, N)", "tl.arange(0, N // 2)", id="half a row"),
        pytest.param("x.float().pow(2)", "(x * x).float()[:, :64].abs()", id="part of each row"),
        pytest.param("rms = torch.rsqrt(x.float()", "rms = torch.rsqrt(x.clone().float()", id="another tensor"),
    ],
)
def test_the_kernel_cannot(old: str, new: str) -> None:
    assert "Let `scale` compute it" not in methods(PROGRAM.replace(old, new))


FLAT = """
@triton.jit
def quantise(x, scale, q, numel, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < numel, other=0.0).to(tl.float32)
    s = tl.load(scale + i // GROUP, mask=i < numel, other=1.0)
    tl.store(q + i, tl.minimum(tl.maximum(v / s, -127.0), 127.0).to(tl.int8), mask=i < numel)

def scales(x, group):
    return x.view(-1, group).abs().amax(-1).float().clamp(min=1e-6) / 127

class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = scales(x, 128)
        q = torch.empty(x.shape, dtype=torch.int8, device=x.device)
        quantise[(triton.cdiv(x.numel(), 2048),)](x, scale, q, x.numel(), GROUP=128, BLOCK=2048)
        return q

def get_inputs():
    return [torch.randn(4096, 4096, dtype=torch.bfloat16)]
"""
#: Rows of x in tiles of two axes, each with several groups.
TILES = """
@triton.jit
def quantise(x, scale, q, numel, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4 + tl.arange(0, 4)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = row[:, None] * 4096 + column[None, :]
    v = tl.load(x + at).to(tl.float32)
    s = tl.load(scale + row[:, None] * (4096 // GROUP) + column[None, :] // GROUP)
    tl.store(q + at, (v / s).to(tl.int8))
"""
IN_TILES = (TILES + FLAT[FLAT.index("def scales") - 1 :]).replace("(triton.cdiv(x.numel(), 2048),)", "(1024, 8)")
IN_TILES = IN_TILES.replace("BLOCK=2048", "BLOCK=512")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(FLAT, id="a flat block of groups"),
        pytest.param(FLAT.replace("BLOCK=2048", "BLOCK=128").replace("2048),)", "128),)"), id="one group a program"),
        pytest.param(FLAT.replace("x.view(-1, group)", "x.reshape(x.shape[0], -1, group)"), id="groups in rows"),
        pytest.param(FLAT.replace("return q", "return q, scale"), id="the caller wants the result"),
        pytest.param(FLAT.replace("return q", "return q.float() * scale.repeat_interleave(128).view(x.shape)"), id="later step"),
        pytest.param(IN_TILES, id="tiles of two axes"),
        pytest.param(FLAT.replace(".abs().amax(-1).float().clamp(min=1e-6) / 127", ".amax(-1)"), id="one call"),
        pytest.param(FLAT.replace(".abs().amax(-1).float().clamp(min=1e-6) / 127", ".float().norm(dim=-1)"), id="two calls"),
        pytest.param(PROGRAM.replace("return y", "return y, rms").replace("scale", "quantise"), id="a value a row kept"),
    ],
)  # fmt: skip
def test_several_groups_a_program(source: str) -> None:
    assert "Let `quantise` compute it" in methods(source)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("scales(x, 128)", "scales(x, 256)", id="groups of another length"),
        pytest.param("scales(x, 128)", "scales(x, 4096)", id="groups longer than a block"),
        pytest.param("i // GROUP", "i // GROUP + 1", id="the value of the next group"),
        pytest.param("i // GROUP", "i % GROUP", id="a value for each place in a group"),
        pytest.param("(0) * BLOCK + tl", "(0) * BLOCK + 64 + tl", id="blocks that start within a group"),
        pytest.param("x, scale, q, x.numel()", "x, scale, q, x.numel() - 64", id="the last group is cut"),
    ],
)  # fmt: skip
def test_no_whole_groups(old: str, new: str) -> None:
    assert old in FLAT
    assert "Let `quantise` compute it" not in methods(FLAT.replace(old, new))


def test_what_the_caller_wants_is_stored() -> None:
    found = run_rule("KL404", FLAT.replace("return q", "return q, scale"))
    (finding,), (context,) = found.findings, found.contexts
    assert finding.change is not None and finding.change.variant is not None
    workload = context.after(finding.change.variant)
    assert workload is not None
    (launch,) = workload.launches()
    stores = {node.base: node.shape for node, _ in launch.kernel.walk(Store) if isinstance(node, Store)}
    assert stores == {"scale": (16,), "q": (16, 128)}
    assert "store" in finding.change.plan


def test_one_launch_is_left() -> None:
    found = run_rule("KL404", PROGRAM)
    (finding,), (context,) = found.findings, found.contexts
    assert finding.change is not None and finding.change.variant is not None
    workload = context.after(finding.change.variant)
    assert workload is not None
    assert [step.name for step, _ in workload.walk() if hasattr(step, "kind")] == ["empty_like"]
    before, after = context.gpu_us(context.variant), context.gpu_us(finding.change.variant)
    assert before is not None and after is not None and after < before / 3
