"""KL502: matrix products written as a broadcast multiply and a sum."""

import pytest
from support.findings import run_rule

KERNEL = """
@triton.jit
def pairs(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        {step}
    tl.store(c + m[:, None] * N + n[None, :], acc)

M, N, K = 1024, 1024, 512

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(M, N, device=a.device, dtype=torch.float32)
        pairs[(M // {bm}, N // {bn})](a, b, c, N, K, BM={bm}, BN={bn}, BK={bk})
        return c

def get_inputs():
    return [torch.randn(M, K, dtype=torch.{dtype}), torch.randn(N, K, dtype=torch.{dtype})]
"""
X = "x = tl.load(a + m[:, None] * K + k[None, :])"
Y = "y = tl.load(b + n[:, None] * K + k[None, :])"
YT = "y = tl.load(b + n[None, :] * K + k[:, None])"


def program(*lines, bm=32, bn=32, bk=32, dtype="float16"):
    step = "\n        ".join(lines)
    return KERNEL.format(step=step, bm=bm, bn=bn, bk=bk, dtype=dtype)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(X, YT, "acc += tl.sum(x[:, :, None] * y[None, :, :], axis=1)"), id="middle axis"),
        pytest.param(program(X, Y, "acc += tl.sum(x[:, None, :] * y[None, :, :], axis=2)"), id="last axis"),
        pytest.param(program(Y, X, "acc += tl.sum(y[None, :, :] * x[:, None, :], axis=2)"), id="other order"),
        pytest.param(
            program(
                X, Y, "p = x[:, None, :].to(tl.float32) * y[None, :, :].to(tl.float32)", "acc = acc + tl.sum(p, 2)"
            ),
            id="casts",
        ),
        pytest.param(
            program(
                "x = tl.load(a + m[:, None, None] * K + k[None, None, :])",
                "y = tl.load(b + n[None, :, None] * K + k[None, None, :])",
                "acc += tl.sum(x * y, axis=2)",
            ),
            id="loaded in three dimensions",
        ),
        pytest.param(program(X, Y, "acc += tl.sum(x[:, None, :] * y[None, :, :], axis=2)", dtype="float32"), id="fp32"),
        pytest.param(
            program(X, Y, "acc += tl.sum(x[:, None, :] * y[None, :, :], axis=2)", bm=16, bn=64),
            id="unequal tile",
        ),
    ],
)
def test_becomes_a_dot(source):
    found = run_rule("KL502", source)
    assert found.only().symbol == "pairs"
    assert found.promised() > 1.5


def test_a_shallow_tile_is_deepened():
    source = program(X, Y, "acc += tl.sum(x[:, None, :] * y[None, :, :], axis=2)", bm=32, bn=32, bk=8)
    change = run_rule("KL502", source).only().change
    assert change is not None and "raise the depth of the tile from 8 to 16" in change.plan


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            program(X, Y, "d = x[:, None, :] - y[None, :, :]", "acc += tl.sum(d * d, axis=2)"), id="squared distance"
        ),
        pytest.param(
            program(X, Y, "acc += tl.sum(tl.abs(x[:, None, :] - y[None, :, :]), axis=2)"), id="absolute distance"
        ),
        pytest.param(program(X, Y, "acc += tl.sum(x[:, None, :] + y[None, :, :], axis=2)"), id="sum of sums"),
        pytest.param(
            program(X, Y, "acc = tl.maximum(acc, tl.max(x[:, None, :] * y[None, :, :], axis=2))"), id="maximum"
        ),
        pytest.param(program(X, Y, "acc += tl.dot(x, tl.trans(y))"), id="dot"),
        pytest.param(program(X, "acc += tl.sum(x[:, None, :] * x[None, :, :], axis=2)"), id="one tile with itself"),
    ],
)
def test_other_sums_stay(source):
    assert not run_rule("KL502", source)


OUTER = """
@triton.jit
def update(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(K):
        x = tl.load(a + m * K + k, mask=m < M, other=0.0).to(tl.float32)
        y = tl.load(b + k * N + n, mask=n < N, other=0.0).to(tl.float32)
        acc += x[:, None] * y[None, :]
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))

M, N, K = 1024, 2048, 512

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(M, N, device=a.device, dtype=torch.float32)
        update[(M // 64, N // 32)](a, b, c, M, N, K, BM=64, BN=32)
        return c

def get_inputs():
    return [torch.randn(M, K, dtype=torch.float16), torch.randn(K, N, dtype=torch.float16)]
"""
UPDATE = "acc += x[:, None] * y[None, :]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(UPDATE, UPDATE, id="as it is"),
        pytest.param(UPDATE, "acc += y[None, :] * x[:, None]", id="the row first"),
        pytest.param(UPDATE, "p = x[:, None] * y[None, :]\n        acc = p + acc", id="through a name"),
        pytest.param("b + k * N + n", "b + n * K + k", id="both along the sum"),
        pytest.param("for k in range(K)", "for k in tl.range(0, K)", id="tl.range"),
        pytest.param("BM=64, BN=32", "BM=32, BN=32", id="a square tile"),
    ],
)
def test_outer_products_are_a_matrix_product(old, new):
    (finding,) = run_rule("KL502", OUTER.replace(old, new)).findings
    assert "512 outer products" in finding.message and finding.change is not None


def test_a_vector_that_is_loaded_as_a_column():
    source = OUTER.replace("a + m * K + k, mask=m < M", "a + m[:, None] * K + k, mask=m[:, None] < M")
    assert run_rule("KL502", source.replace("x[:, None] *", "x *"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(UPDATE, "acc = acc * x[:, None] + y[None, :]", id="a recurrence"),
        pytest.param(UPDATE, "acc += x[:, None] + y[None, :]", id="a sum of two"),
        pytest.param(UPDATE, "acc -= x[:, None] * y[None, :]", id="taken away"),
        pytest.param(UPDATE, "acc = tl.maximum(acc, x[:, None] * y[None, :])", id="the largest product"),
        pytest.param(UPDATE, "acc += x[:, None] * y[None, :] * acc", id="a product with the sum itself"),
        pytest.param(UPDATE, "d = x[:, None] - y[None, :]\n        acc += d * d", id="squared distances"),
        pytest.param("BM=64, BN=32", "BM=8, BN=32", id="eight rows"),
        pytest.param("K = 1024, 2048, 512", "K = 1024, 2048, 8", id="a short sum"),
        pytest.param("b + k * N + n", "b + n", id="the same row each time"),
    ],
)
def test_loops_that_are_no_sum_of_outer_products(old, new):
    assert not run_rule("KL502", OUTER.replace(old, new))


def test_few_rows_are_padded_where_that_pays():
    finding = run_rule("KL502", program(X, Y, "acc += tl.sum(x[:, None, :] * y[None, :, :], axis=2)", bm=4)).only()
    assert finding.change is not None
    assert "[4, " in finding.message


def test_one_row_is_no_matrix_product():
    assert not run_rule("KL502", program(X, Y, "acc += tl.sum(x[:, None, :] * y[None, :, :], axis=2)", bm=1))


ROWS = """
@triton.jit
def pointwise(x, w, b, y, K, O, P, BLOCK: tl.constexpr):
    tile, o, image = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    p = tile * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(K):
        v = tl.load(x + (image * K + k) * P + p, mask=p < P, other=0.0).to(tl.float32)
        s = tl.load(w + o * K + k).to(tl.float32)
        acc += v * s
    acc += tl.load(b + o).to(tl.float32)
    tl.store(y + (image * O + o) * P + p, acc.to(tl.float16), mask=p < P)

class ModelNew(torch.nn.Module):
    def forward(self, x, w, b):
        N, K, P = x.shape
        y = torch.empty(N, w.shape[0], P, device=x.device, dtype=x.dtype)
        pointwise[(triton.cdiv(P, 256), w.shape[0], N)](x, w, b, y, K, w.shape[0], P, BLOCK=256)
        return y

def get_inputs():
    return [torch.randn(8, 96, 3000).half(), torch.randn(160, 96).half(), torch.randn(160).half()]
"""
SUM = "acc += v * s"
CHANNEL_LOOP = [
    (
        "tile, o, image = tl.program_id(0), tl.program_id(1), tl.program_id(2)",
        "tile, image = tl.program_id(0), tl.program_id(1)",
    ),
    ("    acc = tl.zeros", "    for o in range(O):\n     acc = tl.zeros"),
    ("    for k in", "     for k in"),
    ("    acc += tl.load(b", "     acc += tl.load(b"),
    ("    tl.store", "     tl.store"),
    ("w.shape[0], N)]", "N)]"),
]


def rows(*edits):
    source = ROWS
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([], id="as written"),
        pytest.param([(SUM, "acc = s * v + acc")], id="the sum spelled out"),
        pytest.param([(SUM, "part = s * v\n        acc += part")], id="the product named"),
        pytest.param([("range(K)", "tl.range(0, K)")], id="tl.range"),
        pytest.param([("pointwise", "sums"), ("image", "n"), ("acc", "total")], id="renamed"),
        pytest.param(
            [("w + o * K + k", "w + k * O + o"), ("randn(160, 96)", "randn(96, 160)"), ("w.shape[0]", "w.shape[1]")],
            id="weights [K, O]",
        ),
        pytest.param(
            [("tile, o, image =", "o, image, tile ="),
             ("(triton.cdiv(P, 256), w.shape[0], N)", "(w.shape[0], N, triton.cdiv(P, 256))")], id="other grid axes",
        ),
        pytest.param(CHANNEL_LOOP, id="a loop over the output rows"),
        pytest.param([("randn(8, 96, 3000)", "randn(1, 96, 3000)")], id="one matrix"),
        pytest.param([("randn(8, 96, 3000)", "randn(8, 96, 200)")], id="rows shorter than a block"),
    ],
)  # fmt: skip
def test_rows_times_scalars_are_a_matrix_product(edits):
    found = run_rule("KL502", rows(*edits))
    finding = found.only()
    assert "[160, 96]" in finding.message
    assert found.promised() > 1.5


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([(SUM, "acc += tl.abs(v - s)")], id="a distance"),
        pytest.param([(SUM, "acc += v - s")], id="a difference"),
        pytest.param([(SUM, "acc = tl.maximum(acc, v * s)")], id="a maximum"),
        pytest.param([(SUM, "acc = acc * s + v")], id="a polynomial"),
        pytest.param([(SUM, "acc -= v * s")], id="subtracted"),
        pytest.param([(SUM, "acc += v * v")], id="squares"),
        pytest.param([(SUM, "acc += v * s * s")], id="three factors"),
        pytest.param([(SUM, "acc += v")], id="a sum of rows"),
        pytest.param([*CHANNEL_LOOP, ("w + o * K", "w + image * K")], id="weights by image in a loop"),
        pytest.param([*CHANNEL_LOOP, ("(image * K + k) * P", "(o * K + k) * P")], id="a loop over matrices"),
        pytest.param(
            [*CHANNEL_LOOP, ("acc = tl.zeros((BLOCK,), tl.float32)", "pass"),
             ("for o in", "acc = tl.zeros((BLOCK,), tl.float32)\n    for o in")], id="a sum over the output rows too",
        ),
        pytest.param([("w + o * K + k", "w + image * K + k"), ("randn(160, 96)", "randn(8, 96)")], id="weights by image"),
        pytest.param([("w + o * K + k", "w + o * P + k"), ("(image * K + k) * P", "(o * K + k) * P")], id="a matrix for each row"),
        pytest.param([("w + o * K + k", "w + o")], id="one weight for all rows"),
        pytest.param([("randn(8, 96, 3000)", "randn(8, 3, 3000)"), ("randn(160, 96)", "randn(160, 3)")], id="three rows"),
        pytest.param([("randn(160, 96)", "randn(2, 96)"), ("randn(160)", "randn(2)")], id="two output rows"),
        pytest.param([("(image * K + k) * P + p", "image * K * P + k + p")], id="a sliding window"),
    ],
)  # fmt: skip
def test_rows_that_are_no_matrix_product(edits):
    assert not run_rule("KL502", rows(*edits))
