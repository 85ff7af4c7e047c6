"""KL735 to KL751: masks that protect what they should, identities of reductions, grids that reach all elements."""

from __future__ import annotations

import pytest

from tests.support.values import findings, severities

SCALE = """
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {keep}
    v = tl.load(x + i{load})
    tl.store(y + i, v * 2.0, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[{grid}](x, y, x.numel(), BLOCK=1024)
        return y

def get_inputs():
    return [torch.randn({n})]
"""


def scale(load="", grid="(triton.cdiv(x.numel(), 1024),)", n=5000, keep="pass"):
    return SCALE.format(load=load, grid=grid, n=n, keep=keep)


def test_an_unmasked_tail_is_proven_with_a_witness():
    (found,) = findings("KL735", scale())
    assert found.severity == "error"
    assert "5000 elements" in found.message and "element 5119" in found.message
    assert "program 4, lane 1023" in found.evidence[0].text


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(scale(n=5120), id="multiple-of-the-tile"),
        pytest.param(scale(load=", mask=i < n"), id="masked"),
        pytest.param(scale(load=", mask=inside").replace("pass", "inside = n > i"), id="mask-turned-round"),
        pytest.param(scale(keep="i = i % n"), id="wrapped"),
        pytest.param(scale(grid="(x.numel() // 1024,)"), id="whole-tiles-only"),
        pytest.param(scale().replace("torch.empty_like(x)", "torch.empty(8192)").replace("tl.load(x + i)", "1.0"), id="no-load"),
    ],
)  # fmt: skip
def test_tails_that_are_safe(source):
    assert findings("KL735", source) == []


def test_open_sizes_that_a_check_makes_multiples():
    source = """
    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i) * 2.0)

    def run(x, y, n: int):
        {check}
        scale[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    """
    assert severities("KL735", source.format(check="pass")) == ["warning"]
    assert findings("KL735", source.format(check="assert n % 64 == 0")) == []
    assert findings("KL735", source.format(check="assert n % 128 == 0")) == []
    assert findings("KL735", source.format(check="if n % 64 != 0: raise ValueError")) == []
    assert severities("KL735", source.format(check="assert n % 32 == 0")) == ["warning"]


TILE = """
    SIDE = 64

    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i) * 2.0 + (i % {inside}))

    def run(x, y, n: int):
        scale[(triton.cdiv(n, SIDE),)](x, y, n, BLOCK=SIDE)

    def supported(n):
        return {test}
"""


@pytest.mark.parametrize(
    ("test", "inside", "severity"),
    [
        ("n % SIDE == 0", 3, "info"),
        ("not n % 128", 3, "info"),
        ("n % 32 == 0", 3, "warning"),
        ("n // SIDE", 3, "warning"),
        ("n % other", 3, "warning"),
        ("True", 64, "warning"),
    ],
)
def test_caller_may_have_tested_for_multiples_of_the_tile(test, inside, severity):
    assert severities("KL735", TILE.format(test=test, inside=inside)) == [severity]


def test_block_pointers_check_their_bounds_only_when_asked():
    source = """
    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        p = tl.make_block_ptr(x, (n,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,))
        v = tl.load(p{check})
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, v, mask=i < n)

    def run(x, y, n: int):
        scale[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    """
    assert severities("KL735", source.format(check="")) == ["warning"]
    assert findings("KL735", source.format(check=", boundary_check=(0,)")) == []


def test_stores_without_the_mask_of_their_load():
    source = """
    @triton.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + {offset}, tl.load(x + i, mask=i < n){mask})
    """
    assert severities("KL736", source.format(offset="i", mask="")) == ["warning"]
    assert findings("KL736", source.format(offset="i", mask=", mask=i < n")) == []
    assert findings("KL736", source.format(offset="i * 2", mask="")) == []


SKEWED = """
    @triton.jit
    def sums(x, y, row, n{kind}, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        first = tl.load(x + i * row, mask={mask}, other=0.0)
        every = tl.load({of} + (i * row)[:, None] + tl.zeros_like(i)[None, :]{bare})
        tl.store(y + i, tl.sum(every, axis=1) + first, mask=i < n)

    def run(x, y, size: int):
        sums[(triton.cdiv(x.shape[0], size),)](x, y, x.stride(0), x.shape[0], size)
"""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["info"]),
        ({"kind": ": tl.constexpr"}, ["info"]),
        ({"bare": ", mask=(i < n)[:, None]"}, []),
        ({"of": "y"}, []),  # of another tensor, which may be as long as the grid
        ({"mask": "tl.arange(0, BLOCK) < BLOCK"}, []),  # leaves no lane out
        ({"mask": "tl.load(y + i) > 0"}, []),  # not for the size's sake
    ],
)
def test_one_of_two_loads_of_a_row_without_the_mask_of_the_other_is_a_remark(changes, expected):
    changes = {"kind": "", "mask": "i < n", "of": "x", "bare": "", **changes}
    assert severities("KL735", SKEWED.format(**changes)) == expected


SOFTMAX = """
@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    inside = c < n
    v = tl.load(x + tl.program_id(0) * n + c, mask=inside{other})
    {change}
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(y + tl.program_id(0) * n + c, e / tl.sum(e, axis=0), mask=inside)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y

def get_inputs():
    return [torch.randn(64, {columns})]
"""


def softmax(other=', other=-float("inf")', change="pass", columns=1000):
    return SOFTMAX.format(other=other, change=change, columns=columns)


def test_zero_is_no_identity_of_a_softmax():
    found = findings("KL738", softmax(other=", other=0.0"))
    assert [f.severity for f in found] == ["error", "error"]
    assert "`tl.max`" in found[0].message and "`tl.sum`" in found[1].message


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(softmax(), id="minus-infinity"),
        pytest.param(softmax(other=", other=-1e9"), id="a-stand-in-for-it"),
        pytest.param(softmax(other=", other=0.0", columns=1024), id="no-lane-is-masked"),
        pytest.param(softmax(other=", other=0.0", change='v = tl.where(inside, v, -float("inf"))'), id="masked-again"),
        pytest.param(softmax(other=", other=0.0", change='v = tl.where(c < n, v, float("-inf"))'), id="same-mask-in-other-words"),
        pytest.param(softmax(other=", other=-float('inf')", change="v = v.to(tl.float32) - 1.0"), id="through-arithmetic"),
    ],
)  # fmt: skip
def test_identities(source):
    assert findings("KL738", source) == []


def test_a_variance_counts_shifted_zeros():
    source = """
    @triton.jit
    def variance(x, y, n, BLOCK: tl.constexpr):
        c = tl.arange(0, BLOCK)
        m = c < n
        v = tl.load(x + c, mask=m, other=0.0)
        d = {centred}
        tl.store(y, tl.sum(d * d, axis=0) / n)
    """
    mean = "tl.sum(v, axis=0) / n"
    assert severities("KL738", source.format(centred=f"v - {mean}")) == ["info"]
    assert findings("KL738", source.format(centred=f"tl.where(m, v - {mean}, 0.0)")) == []


def test_a_maximum_of_what_cannot_be_negative():
    source = """
    @triton.jit
    def amax(x, y, n, BLOCK: tl.constexpr):
        c = tl.arange(0, BLOCK)
        v = tl.load(x + c, mask=c < n, other=0.0)
        tl.store(y, tl.max({value}, axis=0))
    """
    assert severities("KL738", source.format(value="v")) == ["info"]
    for value in ("tl.abs(v)", "v * v", "tl.sqrt(v)", "tl.maximum(v, 0.0)"):
        assert findings("KL738", source.format(value=value)) == [], value


@pytest.mark.parametrize(
    ("used", "told"),
    [
        ("tl.maximum(m, 0.0)", False),
        ("tl.maximum(0.5, m)", False),
        ("tl.maximum(m, -1.0)", True),
        ("tl.minimum(m, 0.0)", True),
        ("tl.maximum(m, 0.0) + m", True),
    ],
)
def test_an_extreme_that_goes_together_with_a_number(used, told):
    source = f"""
    @triton.jit
    def amax(x, y, n, BLOCK: tl.constexpr):
        c = tl.arange(0, BLOCK)
        m = tl.max(tl.load(x + c, mask=c < n, other=0.0), axis=0)
        tl.store(y, {used})
    """
    assert bool(findings("KL738", source)) is told


def test_rows_out_of_range_do_not_matter_along_columns():
    source = """
    @triton.jit
    def rows(x, y, m, BM: tl.constexpr, BN: tl.constexpr):
        r = tl.program_id(0) * BM + tl.arange(0, BM)
        c = tl.arange(0, BN)
        v = tl.load(x + r[:, None] * BN + c[None, :], mask=r[:, None] < m, other=0.0)
        tl.store(y + r, tl.max(v, axis={axis}){rest}, mask=r < m)
    """
    assert findings("KL738", source.format(axis=1, rest="")) == []
    assert severities("KL738", source.format(axis=0, rest=".reshape((BM,))")) == ["info"]


def test_undefined_lanes():
    source = """
    @triton.jit
    def total(x, y, n, BLOCK: tl.constexpr):
        c = tl.arange(0, BLOCK)
        v = tl.load(x + c, mask=c < n)
        {use}
    """
    assert severities("KL737", source.format(use="tl.store(y, tl.sum(v, axis=0))")) == ["info"]
    assert severities("KL737", source.format(use="tl.store(y, tl.max(v.to(tl.float32), axis=0))")) == ["warning"]
    assert severities("KL737", source.format(use="tl.store(y, tl.max(tl.abs(v.to(tl.float32)), axis=0))")) == ["info"]
    assert severities("KL737", source.format(use="tl.store(y, tl.max(v, axis=0))")) == ["info"]  # of a type not known
    assert findings("KL737", source.format(use="tl.store(y + c, v, mask=c < n)")) == []
    assert findings("KL737", source.format(use="tl.store(y, tl.sum(tl.where(c < n, v, 0.0), axis=0))")) == []


def test_before_the_start():
    source = """
    @triton.jit
    def shift(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i - 1, mask={mask}, other=0.0), mask=i < n)
    """
    assert severities("KL741", source.format(mask="i < n")) == ["warning"]
    for mask in (
        "(i < n) & (i > 0)",
        "(i > 0) & (i < n)",
        "(0 < i) & (n > i)",
        "(i >= 1) & (i < n)",
        "(i != 0) & (i < n)",
    ):
        assert findings("KL741", source.format(mask=mask)) == [], mask


def test_a_conditional_expression_guards_its_load():
    source = """
    @triton.jit
    def first(x, y):
        i = tl.program_id(0)
        start = 0 if i == 0 else tl.load(x + i - 1)
        tl.store(y + i, start)
    """
    assert findings("KL741", source) == []


def test_sentinels():
    source = """
    @triton.jit
    def gather(table, x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        m = i < n
        j = tl.load(table + i, mask=m, other=-1)
        tl.store(y + i, tl.load(x + j{mask}), mask=m)
    """
    assert severities("KL742", source.format(mask="")) == ["warning"]
    assert severities("KL742", source.format(mask=", mask=m")) == ["info"]
    assert findings("KL742", source.format(mask=", mask=m & (j >= 0)")) == []
    assert findings("KL742", source.format(mask=", mask=j != -1")) == []
    # The index of the element behind the one that is loaded is 0 where that is -1.
    behind = source.replace("other=-1)", "other=-1) + {more}").replace("x + j", "x + j * n")
    assert findings("KL742", behind.format(mask="", more=1)) == []
    assert findings("KL742", behind.replace("j * n", "j * n + n - 1 - i").format(mask="", more=1)) == []
    assert severities("KL742", behind.format(mask="", more=0)) == ["warning"]
    assert findings("KL742", behind.replace("=-1", "=-2").format(mask="", more=2)) == []
    assert severities("KL742", behind.replace("=-1", "=-2").format(mask="", more=1)) == ["warning"]
    # A view whose memory has an element for the sentinel before its first one.
    source = """
    @triton.jit
    def k(table, x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        j = tl.load(table + i, mask=i < n, other=-1)
        tl.store(y + i, tl.load(x + j, mask=i < n), mask=i < n)

    def f():
        x, t = torch.randn(65), torch.zeros(64, dtype=torch.int32)
        y = torch.empty(64)
        k[(1,)](t, x{view}, y, 64, BLOCK=64)
        return y
    """
    assert severities("KL742", source.format(view="")) == ["info"]
    assert findings("KL742", source.format(view="[1:]")) == []


@pytest.mark.parametrize(
    "mask", ["a >= lo & a < n", "a >= 0 & a < n", "a < n & inside", "inside & a < n", "a < n | a > lo"]
)
def test_missing_parentheses(mask):
    source = f"""
    @triton.jit
    def k(x, n, lo, BLOCK: tl.constexpr):
        a = tl.arange(0, BLOCK)
        inside = a >= lo
        tl.store(x + a, 1.0, mask={mask})
    """
    assert severities("KL744", source) == ["error"]


@pytest.mark.parametrize(
    "mask",
    [
        "(a >= lo) & (a < n)",
        "(a & 3) == 0",
        "a & 1 == 0",
        "(a < n) & inside",
        "a < (n & -16)",
        "lo <= a",
        "0 <= a & 15 < 8",
    ],
)
def test_parentheses_where_needed(mask):
    source = f"""
    @triton.jit
    def k(x, n, lo, BLOCK: tl.constexpr):
        a = tl.arange(0, BLOCK)
        inside = a >= lo
        tl.store(x + a, 1.0, mask={mask})
    """
    assert findings("KL744", source) == []


GRID = """
{tune}
@triton.jit
def fill(y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 1.0, mask=i < n)

def run(y: torch.Tensor):
    n = y.numel()
    fill[{grid}](y, n{block})
"""
TUNE = "@triton.autotune(configs=[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})], key=['n'])"


def test_grids_for_another_tile():
    assert severities("KL746", GRID.format(tune=TUNE, grid="(triton.cdiv(n, 128),)", block="")) == ["warning"]
    assert severities("KL746", GRID.format(tune=TUNE, grid="(triton.cdiv(n, 256),)", block="")) == ["error"]
    assert severities("KL746", GRID.format(tune="", grid="(triton.cdiv(n, 256),)", block=", BLOCK=128")) == ["error"]
    assert findings("KL746", GRID.format(tune="", grid="(triton.cdiv(n, 128),)", block=", BLOCK=128")) == []
    assert findings("KL746", GRID.format(tune="", grid="((n + 127) // 128,)", block=", BLOCK=128")) == []
    assert findings("KL746", GRID.format(tune="", grid="(triton.cdiv(n, 64),)", block=", BLOCK=128")) == []
    meta = "lambda meta: (triton.cdiv(n, meta['BLOCK']),)"
    assert findings("KL746", GRID.format(tune=TUNE, grid=meta, block="")) == []


def test_a_loop_over_the_grid_reaches_everything():
    source = """
    @triton.jit
    def fill(y, n, BLOCK: tl.constexpr):
        for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
            i = start + tl.arange(0, BLOCK)
            tl.store(y + i, 1.0, mask=i < n)

    def run(y: torch.Tensor):
        fill[(4,)](y, y.numel(), BLOCK=64)
    """
    assert findings("KL747", source) == []
    assert findings("KL746", source) == []


def test_rows_longer_than_the_tile():
    source = """
    @triton.jit
    def total(x, y, n, BLOCK: tl.constexpr):
        c = tl.arange(0, BLOCK)
        v = tl.load(x + tl.program_id(0) * n + c, mask=c < n, other=0.0)
        tl.store(y + tl.program_id(0), tl.sum(v, axis=0))

    def run(x: torch.Tensor, y: torch.Tensor):
        rows, n = x.shape
        {check}
        total[(rows,)](x, y, n, BLOCK={block})
    """
    assert severities("KL751", source.format(check="pass", block="64")) == ["warning"]
    assert severities("KL751", source.format(check="pass", block="min(64, triton.next_power_of_2(n))")) == ["warning"]
    assert findings("KL751", source.format(check="pass", block="triton.next_power_of_2(n)")) == []
    assert findings("KL751", source.format(check="assert n <= 64", block="64")) == []
    assert findings("KL751", source.format(check="if n > 64: raise ValueError", block="64")) == []
    assert severities("KL751", source.format(check="assert n <= 128", block="64")) == ["warning"]


def test_buffers_allocated_in_whole_tiles_have_room():
    source = """
    @triton.jit
    def clear(y, BLOCK: tl.constexpr):
        tl.store(y + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 0.0)

    def run(n: int):
        y = torch.empty({size})
        clear[(triton.cdiv(n, 64),)](y, BLOCK=64)
    """
    assert severities("KL736", source.format(size="n")) == ["warning"]
    assert findings("KL736", source.format(size="triton.cdiv(n, 64) * 64")) == []


TUNED_GRID = """
{tune}
@triton.jit
def fill(y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 1.0, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, y):
        n = y.numel()
        fill[({programs},)](y, n)
        return y

def get_inputs():
    return [torch.randn(4096)]
"""


def _tuned(*blocks):
    configs = ", ".join(f"triton.Config({{'BLOCK': {block}}})" for block in blocks)
    return f"@triton.autotune(configs=[{configs}], key=['n'])"


def test_a_grid_too_small_for_some_configurations_is_a_warning():
    (found,) = findings("KL747", TUNED_GRID.format(tune=_tuned(128, 64), programs="triton.cdiv(n, 128)"))
    assert found.severity == "warning" and "2048 of 4096" in found.message and "some configurations" in found.message
    (found,) = findings("KL747", TUNED_GRID.format(tune=_tuned(128, 64), programs="triton.cdiv(n, 256)"))
    assert found.severity == "error" and "configurations" not in found.message
    assert findings("KL747", TUNED_GRID.format(tune=_tuned(128, 256), programs="triton.cdiv(n, 128)")) == []


def test_the_configurations_behind_the_first_eight_count():
    small = [16] * 8
    assert severities("KL747", TUNED_GRID.format(tune=_tuned(*small, 16), programs="32")) == ["error"]
    assert severities("KL747", TUNED_GRID.format(tune=_tuned(*small, 128), programs="32")) == ["warning"]


ROW_SUM = """
@triton.jit
def total(x, y, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = x + tl.program_id(0) * n + c
    acc = tl.zeros((BLOCK,), tl.float32)
    {body}
    tl.store(y + tl.program_id(0), tl.sum(acc, axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        total[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y

def get_inputs():
    return [torch.randn(8, 4096)]
"""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            """v = tl.load(at, mask=c < n, other=0.0)
    for k in range(1, tl.cdiv(n, BLOCK)):
        ahead = tl.load(at + k * BLOCK, mask=k * BLOCK + c < n, other=0.0)
        acc += v
        v = ahead
    acc += v""",
            id="first-tile-fetched-ahead",
        ),
        pytest.param(
            """v = tl.load(at, mask=c < n, other=0.0)
    at += BLOCK
    for k in range(0, tl.cdiv(n, BLOCK) - 1):
        acc += v
        v = tl.load(at, mask=c < n - (k + 1) * BLOCK, other=0.0)
        at += BLOCK
    acc += v""",
            id="pointer-moved-ahead",
        ),
        pytest.param(
            """for k in range(0, tl.cdiv(n, BLOCK)):
        acc += tl.load(at, mask=c < n, other=0.0)
        at += BLOCK""",
            id="mask-stays-while-the-pointer-moves",
        ),
    ],
)
def test_a_loop_that_walks_the_row_reaches_all_of_it(body):
    assert findings("KL751", ROW_SUM.format(body=body)) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("acc += tl.load(at, mask=c < n, other=0.0)", id="one-tile"),
        pytest.param(
            """for r in range(0, 8):
        acc += tl.load(x + r * n + c, mask=c < n, other=0.0)""",
            id="a-loop-over-rows",
        ),
        pytest.param(
            """for r in range(0, 8):
        acc += tl.load(at, mask=c < n, other=0.0)""",
            id="a-loop-that-stays",
        ),
    ],
)
def test_other_loops_do_not(body):
    assert severities("KL751", ROW_SUM.format(body=body)) == ["error"]


ADD = """
@triton.jit
def add(a, b, o, L, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(a + i, mask=i < L) + tl.load(b + i, mask=i < L), mask=i < L)

def run(a, b, o):
    add[(1,)](a, b, o, {bound}, B=8)
"""


@pytest.mark.parametrize(
    ("bound", "count"), [("a.shape[0]", 1), ("a.shape[1] // o.shape[2]", 0), ("2 * a.shape[0]", 0)]
)
def test_only_the_plain_size_of_another_tensor_is_a_wrong_bound(bound, count):
    assert len(findings("KL740", ADD.format(bound=bound))) == count
