"""KL607 and KL608: sizes that differ from call to call, and those that belong to a model."""

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.autotune(configs=[triton.Config({{"BLOCK": b}}) for b in (512, 1024)], key=["n", "H"])
@triton.jit
def gate(x, w, y, n, H, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.load(w + tl.program_id(1) % H)
    tl.store(y + i, tl.load(x + i, mask=i < n) * scale, mask=i < n)

def run(x, w):
    y = torch.empty_like(x)
    gate[{grid}](x, w, y, {n}, {heads})
    return y
"""


@pytest.mark.parametrize(
    ("grid", "n", "heads", "named"),
    [
        pytest.param("lambda m: (triton.cdiv(x.numel(), m['BLOCK']),)", "x.numel()", "4", "n", id="of the work"),
        pytest.param(
            "lambda m: (triton.cdiv(4096, m['BLOCK']), w.numel())", "4096", "w.numel()", "", id="an extent of the grid"
        ),
        pytest.param("lambda m: (triton.cdiv(4096, m['BLOCK']),)", "4096", "w.numel()", "", id="not in the grid"),
    ],
)
def test_numbers_of_elements(grid, n, heads, named):
    found = run_rule("KL608", PROGRAM.format(grid=grid, n=n, heads=heads)).findings
    assert [f"value of `{named}`" in f.message for f in found] == [True] * bool(named)


SEVERAL = """
@triton.jit
def scale(x, y, N: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for part in tl.static_range({trips}):
        tl.store(y + i + part, tl.load(x + i + part, mask=i < N) * 2.0, mask=i < N)

def run(x):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 1024),)](x, y, N=x.numel(), WIDTH=x.numel() * 2, BLOCK=1024)
    return y
"""


@pytest.mark.parametrize(
    ("trips", "named"),
    [
        pytest.param("1", ["N"], id="no constant wanted"),
        pytest.param("WIDTH // 4096", [], id="another constexpr of that size is wanted"),
    ],
)
def test_a_size_that_a_constant_is_made_of_anyway(trips, named):
    found = run_rule("KL607", SEVERAL.format(trips=trips)).findings
    assert len(found) == len(named)
    assert all(f"value of `{one}`" in f.message for f, one in zip(found, named))
