"""KL406: broadcast results that are written out for a kernel that reduces them, and those that have to be."""

from __future__ import annotations

import pytest
from support.findings import Found, run_rule

PROGRAM = """
@triton.jit
def reduced(d, y, rows, D, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r, i = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    v = tl.load(d + r[:, None] * D + i[None, :], mask=(r[:, None] < rows) & (i[None, :] < D), other=0.0).to(tl.float32)
    tl.store(y + r, tl.exp(-tl.sum(v * v, axis=1)), mask=r < rows)

@triton.jit
def one_row(d, y, D, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(d + row * D + i, mask=i < D, other=0.0).to(tl.float32)
    tl.store(y + row, tl.sum(v * v, axis=0))

@triton.jit
def one_row_in_steps(d, y, D, BLOCK: tl.constexpr):
    row, acc = tl.program_id(0), 0.0
    for start in range(0, D, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.sum(tl.abs(tl.load(d + row * D + i, mask=i < D, other=0.0).to(tl.float32)), axis=0)
    tl.store(y + row, acc)

@triton.jit
def each(d, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(d + i, mask=i < n)
    tl.store(y + i, v * v, mask=i < n)

@triton.jit
def columns(d, y, D, ROWS, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for row in range(0, ROWS):
        acc += tl.load(d + row * D + i, mask=i < D, other=0.0)
    tl.store(y + i, acc, mask=i < D)

def difference(a, b):
    return a.unsqueeze(1) - b.unsqueeze(0)

class ModelNew(torch.nn.Module):
    def forward(self, x, c):
        n, dim = x.shape
        m = c.shape[0]
        y = torch.empty(n, m, device=x.device)
        FORM
        LAUNCH
        return RESULT

def get_inputs():
    return [torch.randn(N, 64, dtype=torch.float16), torch.randn(M, 64, dtype=torch.float16)]

N = 8192
M = 512
"""
FORM = "d = x[:, None, :] - c[None, :, :]"
TILED = "reduced[(triton.cdiv(n * m, 32),)](d, y, n * m, dim, ROWS=32, BLOCK=64)"
ROW = "one_row[(n * m,)](d, y, dim, BLOCK=64)"
STEPS = "one_row_in_steps[(n * m,)](d, y, dim, BLOCK=32)"


def found_in(form: str = FORM, launch: str = TILED, result: str = "y", **sizes: int) -> Found:
    source = PROGRAM.replace("FORM", form, 1).replace("LAUNCH", launch).replace("RESULT", result)
    return run_rule("KL406", source, **sizes)


@pytest.mark.parametrize(
    ("form", "launch"),
    [
        pytest.param(FORM, TILED, id="a tile of rows"),
        pytest.param("d = x.unsqueeze(1) - c", TILED, id="leading axes of its own"),
        pytest.param("d = torch.sub(x[:, None], c)", TILED, id="as a function"),
        pytest.param("d = difference(b=c, a=x)", TILED, id="in a helper"),
        pytest.param("d = (x.unsqueeze(1) - c.unsqueeze(0)).view(n * m, dim)", TILED, id="a view of it"),
        pytest.param("d = x[:, None].expand(n, m, dim) - c.expand(n, m, dim)", TILED, id="expanded by hand"),
        pytest.param(FORM.replace("d =", "other =") + "; d = other", TILED, id="another name"),
        pytest.param(FORM, ROW, id="a row a program"),
        pytest.param(FORM, TILED.replace("(d, y", "(y=y, d=d").replace("n * m, dim, R", "rows=n * m, D=dim, R"), id="keywords"),
    ],
)  # fmt: skip
def test_squared_differences_are_a_product(form: str, launch: str) -> None:
    found = found_in(form, launch)
    finding = found.only()
    assert "8192 x 512 x 64" in finding.message
    assert finding.change is not None and "`tl.dot`, and subtract" in finding.change.method
    assert found.promised() > 1.9


@pytest.mark.parametrize(
    ("form", "launch"),
    [
        pytest.param("d = x[:, None] - c", STEPS, id="absolute differences"),
        pytest.param("d = torch.maximum(x[:, None], c)", TILED, id="squared maxima"),
        pytest.param("d = x.float()[:, None] - c.float()", TILED, id="fp32 differences"),
        pytest.param("d = x[:, None] * c", TILED, id="squared products"),
    ],
)
def test_other_sums_are_formed_in_registers(form: str, launch: str) -> None:
    found = found_in(form, launch)
    finding = found.only()
    assert (
        finding.change is not None and "tl.dot" not in finding.change.method and "in registers" in finding.change.method
    )
    assert found.promised() > 1.5


def test_products_that_are_summed_are_a_product() -> None:
    source = PROGRAM.replace("v * v, axis=0", "v, axis=0").replace("FORM", "d = x[:, None] * c").replace("LAUNCH", ROW)
    finding = run_rule("KL406", source.replace("RESULT", "y")).only()
    assert finding.change is not None and finding.change.method.endswith("multiply the tiles with `tl.dot`.")


def test_a_batch_of_them() -> None:
    form = "d = x.view(8, -1, 1, dim) - c.view(8, 1, -1, dim); y = torch.empty(8, n // 8, m // 8, device=x.device)"
    found = found_in(form, TILED.replace("n * m", "n * m // 8"))
    change = found.only().change
    assert change is not None and "`tl.dot`" in change.method


@pytest.mark.parametrize(
    ("form", "launch", "result"),
    [
        pytest.param(FORM, TILED, "(y, d)", id="it is returned"),
        pytest.param(FORM, TILED, "y + d.amax(-1)", id="torch reads it too"),
        pytest.param(FORM, f"{TILED}; {ROW}", "y", id="two launches read it"),
        pytest.param("d = self.d = x[:, None] - c", TILED, "y + self.d[0, 0, 0]", id="it is kept"),
        pytest.param(FORM, f"c.zero_(); {TILED}", "y", id="an operand changes between"),
        pytest.param(f"{FORM}; d.add_(1.0)", TILED, "y", id="it changes between"),
        pytest.param("d = x[:, None].repeat(1, m, 1) - c", TILED, "y", id="one operand is as large"),
        pytest.param("d = x - c[:1]", TILED.replace("n * m", "n"), "y", id="hardly larger"),
        pytest.param("d = x[:, None].expand(n, m, dim).contiguous()", TILED, "y", id="no arithmetic"),
        pytest.param("d = x[:, None] * 2.0 - x[:, None]", TILED.replace("n * m", "n"), "y", id="nothing broadcasts"),
        pytest.param(FORM, "z = torch.empty_like(d); each[(triton.cdiv(d.numel(), 1024),)](d, z, d.numel(), BLOCK=1024)", "z",
                     id="not reduced"),
        pytest.param(FORM, "columns[(1,)](d, y, dim, n * m, BLOCK=64)", "y", id="reduced along another axis"),
        pytest.param(FORM, TILED.replace("dim,", "dim + 1,"), "y", id="other rows"),
        pytest.param(FORM, "one_row[(n * m,)](d, y, dim, BLOCK=32)", "y", id="a part of each row"),
        pytest.param(FORM, "one_row[(m,)](d, y, dim, BLOCK=64)", "y[0]", id="a view of some rows"),
        pytest.param(f"{FORM}; y = torch.empty(m, n, device=x.device).t()", TILED, "y", id="results that lie otherwise"),
        pytest.param(f"{FORM}; y = torch.empty(n * m, 2, device=x.device)", TILED, "y", id="more results"),
    ],
)  # fmt: skip
def test_silent(form: str, launch: str, result: str) -> None:
    assert not found_in(form, launch, result)


def test_silent_inside_the_kernel() -> None:
    source = PROGRAM.replace("FORM", FORM).replace("LAUNCH", TILED).replace("RESULT", "y")
    two = source.replace("tl.exp(-tl.sum(v * v, axis=1))", "tl.sum(tl.exp(v - tl.max(v, axis=1)[:, None]), axis=1)")
    assert not run_rule("KL406", two), "a second pass over the row"
    kept = source.replace(
        "mask=r < rows)\n", "mask=r < rows)\n    tl.store(d + r, tl.sum(v, axis=1), mask=r < rows)\n", 1
    )
    assert not run_rule("KL406", kept), "it writes there"


def test_open_sizes_are_left_alone() -> None:
    source = PROGRAM.replace("FORM", FORM).replace("LAUNCH", TILED).replace("RESULT", "y")
    assert not run_rule("KL406", source[: source.index("def get_inputs")])
