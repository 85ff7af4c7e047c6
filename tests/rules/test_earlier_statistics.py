"""KL504 across steps: moments about a statistic that an earlier launch or torch call took of the same rows."""

from __future__ import annotations

import pytest
from support.findings import run_rule

#: The spread of each row: a launch for the mean, one for the squares.
PROGRAM = """
@triton.jit
def average(src, dst, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, n, BLOCK):
        total += tl.load(src + row * n + begin + lanes, mask=begin + lanes < n, other=0.0)
    tl.store(dst + row, tl.sum(total, axis=0) / n)

@triton.jit
def spread(src, centre, dst, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    c = tl.load(centre + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, n, BLOCK):
        inside = begin + lanes < n
        v = tl.load(src + row * n + begin + lanes, mask=inside, other=0.0)
        d = tl.where(inside, v - c, 0.0)
        total += d * d
    tl.store(dst + row, tl.sum(total, axis=0) / n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, n = x.shape
        m = torch.empty(rows, device=x.device)
        average[(rows,)](x, m, n, BLOCK=4096)
        y = torch.empty(rows, device=x.device)
        spread[(rows,)](x, m, y, n, BLOCK=2048)
        return y

def get_inputs():
    return [torch.randn(1024, 65536)]
"""
#: Several rows a program, pointers that move on, a skewness in place of a variance.
TILES = """
@triton.jit
def sums(p, out, R, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for i in range(0, N, COLS):
        acc += tl.load(p + r[:, None] * N + i + c[None, :])
    tl.store(out + r, tl.sum(acc, axis=1))

@triton.jit
def cubes(p, sum_ptr, out, R, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    mean = tl.load(sum_ptr + r) / N
    third = tl.zeros((ROWS,), tl.float32)
    second = tl.zeros((ROWS,), tl.float32)
    at = p + r[:, None] * N + c[None, :]
    for i in range(0, N, COLS):
        e = tl.load(at) - mean[:, None]
        e2 = e * e
        second = second + tl.sum(e2, axis=1)
        third = third + tl.sum(e2 * e, axis=1)
        at += COLS
    tl.store(out + r, third / N / tl.exp(1.5 * tl.log(second / N)))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        s = torch.empty(x.shape[0], device=x.device)
        sums[(x.shape[0] // 4,)](x, s, *x.shape, ROWS=4, COLS=1024)
        y = torch.empty_like(s)
        cubes[(x.shape[0] // 4,)](x, s, y, *x.shape, ROWS=4, COLS=1024)
        return y

def get_inputs():
    return [torch.randn(2048, 32768)]
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(PROGRAM, id="mean and variance"),
        pytest.param(PROGRAM.replace("total += d * d", "total = d * d + total"), id="a sum written out"),
        pytest.param(PROGRAM.replace("BLOCK=2048", "BLOCK=4096"), id="blocks alike"),
        pytest.param(PROGRAM.replace("(x, m, y, n,", "(dst=y, centre=m, n=n, src=x,"), id="keywords"),
        pytest.param(PROGRAM.replace("return y", "return y, m"), id="the mean is wanted"),
        pytest.param(PROGRAM.replace("x.shape\n", "x.shape; x = x.contiguous()\n"), id="no copy"),
        pytest.param(PROGRAM.replace("total, axis=0) / n)\n\n@", "total, axis=0))\n\n@").replace("+ row)\n", "+ row) / n\n"), id="a sum"),
        pytest.param(TILES, id="rows in tiles"),
    ],
)  # fmt: skip
def test_found(source: str) -> None:
    found = run_rule("KL504", source)
    assert "about what" in found.only().message
    assert found.promised() > 1.3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("total += d * d", "total += tl.abs(d)", id="absolute differences"),
        pytest.param("total += d * d", "total += tl.exp(d)", id="exponentials"),
        pytest.param("total += d * d", "total += tl.maximum(d, 0.0) * d", id="one side only"),
        pytest.param("total += d * d", "total += d * d; total = tl.maximum(total, d)", id="a maximum"),
        pytest.param("total += d * d", "total = total * d + d", id="a recurrence"),
        pytest.param("total += d * d", "total += tl.where(v > c, d * d, 0.0)", id="values above the mean"),
        pytest.param("total += d * d", "total += d // 2 * d", id="floor"),
        pytest.param("total += d * d", "total += d * d; tl.store(src + row * n + begin + lanes, d)", id="rows are written"),
        pytest.param("tl.load(centre + row)", "tl.load(centre + n - row)", id="another row's"),
        pytest.param("average[(rows,)](x, ", "average[(rows,)](x + 1, ", id="of other values"),
        pytest.param("average[(rows,)](x, ", "average[(rows,)](x[:, 1:], ", id="of other columns"),
        pytest.param("average[(rows,)](x, m, n,", "average[(rows,)](x, m, n // 2,", id="half a row"),
        pytest.param("y = torch", "x += 1; y = torch", id="rows changed in between"),
        pytest.param("y = torch", "m *= 2; y = torch", id="statistic changed in between"),
        pytest.param("y = torch", "z = m.item(); y = torch", id="the host reads it in between"),
        pytest.param("spread[(rows,)]", "spread[(rows // 2,)]", id="fewer programs"),
    ],
)  # fmt: skip
def test_not_found(old: str, new: str) -> None:
    assert old in PROGRAM
    assert not run_rule("KL504", PROGRAM.replace(old, new))


def test_a_loop_of_the_host() -> None:
    old = "        spread[(rows,)](x, m, y, n, BLOCK=2048)\n"
    assert not run_rule("KL504", PROGRAM.replace(old, "        for _ in range(4):\n    " + old))


def test_covariance_in_one_kernel() -> None:
    body = """
    @triton.jit
    def covariance(x, y, out, N, BLOCK: tl.constexpr):
        row = tl.program_id(0) * N
        i = tl.arange(0, BLOCK)
        a, b = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
        for s in range(0, N, BLOCK):
            a += tl.load(x + row + s + i)
            b += tl.load(y + row + s + i)
        ma, mb = tl.sum(a, axis=0) / N, tl.sum(b, axis=0) / N
        both = tl.zeros((BLOCK,), tl.float32)
        for s in range(0, N, BLOCK):
            both += (tl.load(x + row + s + i) - ma) * (tl.load(y + row + s + i) - mb)
        tl.store(out + tl.program_id(0), tl.sum(both, axis=0) / N)

    class ModelNew(torch.nn.Module):
        def forward(self, x, y):
            out = torch.empty(x.shape[0], device=x.device)
            covariance[(x.shape[0],)](x, y, out, x.shape[1], BLOCK=2048)
            return out

    def get_inputs():
        return [torch.randn(512, 131072), torch.randn(512, 131072)]
    """
    assert run_rule("KL504", body)
    assert not run_rule("KL504", body.replace("both += (", "both += tl.abs("))


#: A norm of each row from a launch of its own, wanted only where the product is complete.
COSINE = """@triton.jit
def norm(src, dst, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, n, BLOCK):
        v = tl.load(src + row * n + begin + lanes, mask=begin + lanes < n, other=0.0)
        total += v * v
    tl.store(dst + row, tl.sqrt(tl.sum(total, axis=0)))

@triton.jit
def cosine(x, y, nx, ny, dst, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, n, BLOCK):
        a = tl.load(x + row * n + begin + lanes, mask=begin + lanes < n, other=0.0)
        b = tl.load(y + row * n + begin + lanes, mask=begin + lanes < n, other=0.0)
        total += a * b
    tl.store(dst + row, tl.sum(total, axis=0) / (tl.load(nx + row) * tl.load(ny + row)))

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        rows, n = x.shape
        nx = torch.empty(rows, device=x.device)
        norm[(rows,)](x, nx, n, BLOCK=4096)
        ny = torch.empty(rows, device=x.device)
        norm[(rows,)](y, ny, n, BLOCK=4096)
        z = torch.empty(rows, device=x.device)
        cosine[(rows,)](x, y, nx, ny, z, n, BLOCK=4096)
        return z

def get_inputs():
    return [torch.randn(1024, 65536), torch.randn(1024, 65536)]
"""
#: A maximum first, exponentials of what differs from it then: no sum about another number gives that.
SOFTMAX = PROGRAM.replace("total += tl.load(src + row", "total = tl.maximum(total, tl.load(src + row").replace(
    "other=0.0)\n    tl.store(dst + row, tl.sum(total, axis=0) / n)", "other=0.0))\n    tl.store(dst + row, tl.max(total, axis=0))"
).replace("total += d * d", "total += tl.exp(d)")  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(COSINE, id="two norms and a product"),
        pytest.param(COSINE.replace("total += a * b", "total += tl.abs(a - b)"), id="no polynomial is needed"),
        pytest.param(COSINE.replace("        norm[(rows,)](y, ny, n, BLOCK=4096)\n", "        ny = y.norm(dim=-1)\n"), id="one in torch"),
        pytest.param(COSINE.replace("return z", "return z, nx"), id="a norm is wanted"),
    ],
)  # fmt: skip
def test_wanted_behind_the_loop(source: str) -> None:
    found = run_rule("KL504", source)
    finding = found.only()
    assert "for a value each" in finding.message
    assert found.promised() > 1.2


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(SOFTMAX, id="softmax"),
        pytest.param(
            COSINE.replace("total += a * b", "total += tl.where(a > tl.load(nx + row) + tl.load(ny + row), a, b)"),
            id="used in the loop",
        ),
        pytest.param(
            COSINE.replace("range(0, n, BLOCK):\n        a", "range(n // 2, n, BLOCK):\n        a"), id="half a row"
        ),
        pytest.param(COSINE.replace("x, y, nx, ny, z, n", "y * 2, x * 2, nx, ny, z, n"), id="other rows"),
    ],
)
def test_not_wanted_behind_the_loop(source: str) -> None:
    assert not run_rule("KL504", source)
