"""Chains of launches put together: what becomes of lines, names, parameters, masks and temporaries."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fix, fixed, needs_interpreter, refusal

KERNELS = '''
@triton.jit
def scale(src, dst, numel, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < numel
    tl.store(dst + at, tl.load(src + at, mask=inside) * factor, mask=inside)


@triton.jit
def gelu(a_ptr, b_ptr, n, TILE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * TILE + tl.arange(0, TILE)
    ok = offs < n
    v = tl.load(a_ptr + offs, mask=ok, other=0.0)
    # tanh form
    out = v * tl.sigmoid(1.702 * v)
    tl.store(b_ptr + offs, out, mask=ok)


@triton.jit
def add_bias(x, bias, y, total, WIDTH, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(bias + i % WIDTH, mask=i < total)
    tl.store(y + i, tl.load(x + i, mask=i < total) + b, mask=i < total)


@triton.jit
def row_norm(x, y, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    keep = cols < N
    v = tl.load(x + row * N + cols, mask=keep, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / N + eps)
    tl.store(y + row * N + cols, v * scale, mask=keep)


@triton.jit
def moments(x, mean, var, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    m = tl.sum(v, axis=0) / N
    d = tl.where(cols < N, v - m, 0.0)
    tl.store(mean + row, m)
    tl.store(var + row, tl.sum(d * d, axis=0) / N)


@triton.jit
def normalise(inp, mu, sigma, out, width, eps, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    valid = c < width
    a = tl.load(mu + r)
    s = tl.rsqrt(tl.load(sigma + r) + eps)
    z = tl.load(inp + r * width + c, mask=valid, other=0.0)
    tl.store(out + r * width + c, (z - a) * s, mask=valid)


@triton.jit
def exponentials(x, e, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(e + row * N + cols, tl.exp(v - tl.max(v, axis=0)), mask=cols < N)


@triton.jit
def divide_by_sum(e, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(e + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y + row * N + cols, v / tl.sum(v, axis=0), mask=cols < N)


def scaled(x, factor):
    """Scaled by a factor."""
    y = torch.empty_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 1024),)](x, y, n, factor, BLOCK=1024)
    return y


def activated(x):
    assert x.is_cuda or True
    y = torch.empty_like(x)
    n = x.numel()
    # one program a tile
    gelu[(triton.cdiv(n, 512),)](x, y, n, TILE=512)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, x{more}):
{body}


def get_inputs():
    return [{inputs}]
'''

#: Rows, columns and the next power of two of the columns: proof size, then sizes to run.
ROWS, COLS, POWER = 2048, 4000, 4096
SMALL = [(3, 100, 128), (1, 1, 1), (5, 129, 256)]


def program(body: str, more: str = "", inputs: str = "") -> str:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    values = ", ".join(["torch.randn(ROWS, COLS)", *filter(None, [inputs])])
    return KERNELS.replace("{more}", f", {more}" if more else "").replace("{body}", text).replace("{inputs}", values)


def sized(text: str, rows: int = ROWS, cols: int = COLS, power: int = POWER) -> str:
    return text.replace("ROWS", str(rows)).replace("COLS", str(cols)).replace("POWER", str(power))


ELEMENTWISE = """
    h = torch.empty_like(x)
    y = torch.empty_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 1024),)](x, h, n, 0.5, BLOCK=1024)
    gelu[(triton.cdiv(h.numel(), 512),)](h, y, n, TILE=512)
    return y
    """
THREE = """
    n = x.numel()
    first = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    scale[grid](src=x, dst=first, numel=n, factor=3.0, BLOCK=512)
    # then the bias
    second = torch.empty_like(x)
    add_bias[grid](first, bias, second, n, COLS, BLOCK=512)
    y = torch.empty_like(x)
    gelu[(triton.cdiv(n, 512),)](second, y, n, TILE=512)
    return y
    """
BEHIND_ROWS = """
    t = torch.empty_like(x)
    y = torch.empty_like(x)
    row_norm[(ROWS,)](x, t, COLS, 1e-6, BLOCK=POWER)
    gelu[(triton.cdiv(x.numel(), 256),)](t, y, x.numel(), TILE=256)
    return y
    """
BEFORE_ROWS = """
    t = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](x, t, x.numel(), 2.0, BLOCK=256)
    y = torch.empty_like(x)
    row_norm[(ROWS,)](t, y, COLS, 1e-6, BLOCK=POWER)
    return y
    """
HALF = """
    t = torch.empty_like(x, dtype=torch.float16)
    scale[(triton.cdiv(x.numel(), 256),)](x, t, x.numel(), 2.0, BLOCK=256)
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](t, y, x.numel(), 3.0, BLOCK=256)
    return y
    """
SPLIT_NORM = """
    mu = torch.empty(ROWS, device=x.device)
    var = torch.empty(ROWS, device=x.device)
    moments[(ROWS,)](x, mu, var, COLS, BLOCK=POWER)
    y = torch.empty_like(x)
    normalise[(ROWS,)](x, mu, var, y, COLS, 1e-5, B=POWER)
    return y
    """
KEPT_STATISTIC = SPLIT_NORM.replace("return y", "return y, mu")
SPLIT_SOFTMAX = """
    e = torch.empty_like(x)
    y = torch.empty_like(x)
    exponentials[(ROWS,)](x, e, COLS, BLOCK=POWER, num_warps=8)
    divide_by_sum[(ROWS,)](e, y, COLS, BLOCK=POWER, num_warps=8)
    return y
    """
TWICE = """
    h = torch.empty_like(x)
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](x, h, x.numel(), 0.5, BLOCK=256)
    scale[(triton.cdiv(x.numel(), 256),)](h, y, x.numel(), 3.0, BLOCK=256)
    return y
    """

LIKE = """
    h = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 1024),)](x, h, x.numel(), 0.5, BLOCK=1024)
    y = torch.empty_like(h)
    gelu[(triton.cdiv(h.numel(), 512),)](h, y, h.numel(), TILE=512)
    return y
    """
NESTED = """
    return activated(scaled(x, 0.5))
    """
NAMED = """
    h = scaled(x, factor=0.5)
    out = activated(h)
    return out
    """
BIAS = ("bias", "torch.randn(COLS)")
CASES = [
    pytest.param("KL401", ELEMENTWISE, ("", ""), id="elementwise, other blocks and names"),
    pytest.param("KL401", THREE, BIAS, id="three, by keyword and with a grid function"),
    pytest.param("KL401", BEHIND_ROWS, ("", ""), id="elementwise behind a row kernel"),
    pytest.param("KL401", BEFORE_ROWS, ("", ""), id="elementwise in front of a row kernel"),
    pytest.param("KL401", HALF, ("", ""), id="an intermediate of 16 bits"),
    pytest.param("KL401", TWICE, ("", ""), id="one kernel twice"),
    pytest.param("KL401", LIKE, ("", ""), id="sizes asked of the intermediate"),
    pytest.param("KL401", NESTED, ("", ""), id="in helpers, called in each other"),
    pytest.param("KL401", NAMED, ("", ""), id="in helpers"),
    pytest.param("KL403", SPLIT_NORM, ("", ""), id="statistics and normalisation"),
    pytest.param("KL403", KEPT_STATISTIC, ("", ""), id="a statistic that is returned"),
    pytest.param("KL401", SPLIT_SOFTMAX, ("", ""), id="a kernel that adds up what it is handed"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "body", "more"), CASES)
def test_one_launch_is_left(code: str, body: str, more: tuple[str, str]) -> None:
    source = sized(program(body, *more))
    result = fix(source, code)
    assert result.applied, result.refused
    launches = [line for line in result.after.split("class ModelNew")[1].split("\n") if "[" in line and "](" in line]
    assert len(launches) == 1
    assert fixed(source, code)


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("size", SMALL, ids=str)
@pytest.mark.parametrize(("code", "body", "more"), CASES)
def test_same_results(tmp_path: Path, code: str, body: str, more: tuple[str, str], size: tuple[int, int, int]) -> None:
    # Fixed at the large size, where it is worth it; the sizes stay names, so that the result can be run at small ones.
    head = "ROWS, COLS, POWER = {}, {}, {}\n\n"
    source = head.format(ROWS, COLS, POWER) + program(body, *more)
    after = fixed(source, code)
    small = head.format(*size)
    large = head.format(ROWS, COLS, POWER)
    assert_same_results(tmp_path, source.replace(large, small), after.replace(large, small), 1e-6)


def test_text_of_an_elementwise_chain() -> None:
    after = fixed(sized(program(ELEMENTWISE)), "KL401")
    assert (
        """@triton.jit
def scale_gelu(src, b_ptr, numel, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < numel
    h = tl.load(src + at, mask=inside) * factor

    # tanh form
    out = h * tl.sigmoid(1.702 * h)
    tl.store(b_ptr + at, out, mask=inside)
"""
        in "\n" + after
    )
    assert (
        """
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        scale_gelu[(triton.cdiv(n, 1024),)](x, y, n, 0.5, BLOCK=1024)
        return y
"""
        in after
    )


def test_text_of_a_split_norm() -> None:
    after = fixed(sized(program(SPLIT_NORM)), "KL403")
    assert "tl.load(mu" not in after and "torch.empty(2048" not in after
    assert after.count("tl.load(x + row * N + cols") == 1 + after.count("def row_norm") + after.count(
        "def exponentials"
    )


def test_rounding_to_the_type_in_memory_stays() -> None:
    assert "t = (tl.load(src + at, mask=inside) * factor).to(tl.float16)" in fixed(sized(program(HALF)), "KL401")


def test_values_of_masked_lanes_stay() -> None:
    after = fixed(sized(program(SPLIT_SOFTMAX)), "KL401")
    assert "tl.where(cols < N, e_2, 0.0)" in after or "tl.where(cols < N, e, 0.0)" in after


def test_a_kernel_that_something_else_launches_stays() -> None:
    source = sized(program(ELEMENTWISE)) + "\n\ndef other(x, y):\n    gelu[(1,)](x, y, 5, TILE=8)\n"
    after = fixed(source, "KL401")
    assert "def gelu(" in after and "def scale_gelu(" in after


REFUSED = [
    pytest.param(
        ELEMENTWISE.replace("return y", "return y, h.data_ptr()"), "still used", id="the intermediate is used for more"
    ),
    pytest.param(
        ELEMENTWISE.replace("gelu[", "n = 3 * n // 3\n    gelu["), "changes between", id="an argument changes"
    ),
    pytest.param(
        """
        h = torch.empty_like(x)
        scale[(triton.cdiv(x.numel(), 1024),)](x, h, x.numel(), 0.5, BLOCK=1024)
        return torch.relu(h)
        """, "torch call", id="a torch call behind a kernel",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reason"), REFUSED)
def test_refused(body: str, reason: str) -> None:
    assert reason in refusal(sized(program(body)), "KL401")


def test_refused_where_the_type_in_memory_is_not_known() -> None:
    without_inputs = sized(program(ELEMENTWISE)).partition("def get_inputs")[0]
    assert "the element type" in refusal(without_inputs, "KL401")


SIBLINGS = """
@triton.jit
def slope(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    tl.store(y + i, tl.load(x + i, mask=i < n) - left, mask=i < n)


@triton.jit
def steepness(src, dst, n, W, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(src + i - W, mask=(i >= W) & (i < n), other=0.0)
    tl.store(dst + i, (tl.load(src + i, mask=i < n) - left) * 0.5, mask=i < n)


@triton.jit
def length(a, b, y, n, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    p = tl.load(a + at, mask=at < n)
    q = tl.load(b + at, mask=at < n)
    tl.store(y + at, tl.sqrt(p * p + q * q), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n, w = x.numel(), x.shape[1]
        gx = torch.empty_like(x)
        gy = torch.empty_like(x)
        slope[(triton.cdiv(n, 256),)](x, gx, n, BLOCK=256)
        steepness[(triton.cdiv(n, 256),)](x, gy, n, w, BLOCK=256)
        out = torch.empty_like(x)
        length[(triton.cdiv(n, 128),)](gx, gy, out, n, TILE=128)
        return out


def get_inputs():
    return [torch.randn(37, 41)]
"""


def test_launches_side_by_side_become_one_with_the_one_that_joins_them() -> None:
    after = fixed(SIBLINGS, "KL401")
    assert after.count("@triton.jit") == 1 and "gx" not in after.split("def forward")[1]
    assert after.count("tl.store(") == 1 and after.count("[(triton.cdiv(n, 256),)]") == 1


@needs_interpreter
def test_launches_side_by_side_give_the_same_results(tmp_path: Path) -> None:
    assert_same_results(tmp_path, SIBLINGS, fixed(SIBLINGS, "KL401"))
