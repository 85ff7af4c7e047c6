"""KL202, KL206 and KL207: blocks too small for their threads, accumulators and stages too large for an SM."""

import pytest
from support.findings import run_rule

STREAM = """
@triton.jit
def gelu(v):
    return 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))

@triton.jit
def pointwise(a, b, y, n, SIZE: tl.constexpr):
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    v = tl.load(a + i, mask=i < n).to(tl.float32) + tl.load(b + i, mask=i < n).to(tl.float32)
    tl.store(y + i, gelu(v), mask=i < n)

{launcher}

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return launch(a, b)

def get_inputs():
    return [torch.randn({n}, dtype=torch.float16), torch.randn({n}, dtype=torch.float16)]
"""
META = """
def launch(a, b):
    y = torch.empty_like(a)
    pointwise[lambda meta: (triton.cdiv(a.numel(), meta["SIZE"]),)](a, b, y, a.numel(), SIZE={size})
    return y
"""
NAMED = """
def launch(a, b):
    y = torch.empty_like(a)
    size = {size}
    pointwise[(triton.cdiv(a.numel(), size),)](a, b, y, a.numel(), size)
    return y
"""
CONSTANT = """
SIZE = {size}

def launch(a, b):
    y = torch.empty_like(a)
    options = dict(SIZE=SIZE, num_warps=8)
    pointwise[(triton.cdiv(a.numel(), SIZE),)](y=y, b=b, a=a, n=a.numel(), **options)
    return y
"""


def stream(launcher: str, size: int, n: str = "4096, 4096") -> str:
    return STREAM.format(launcher=launcher.format(size=size), n=n)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(stream(META, 32), id="grid from meta"),
        pytest.param(stream(NAMED, 64), id="local constant, positional"),
        pytest.param(stream(CONSTANT, 128), id="module constant, keywords, eight warps"),
        pytest.param(stream(META, 512), id="half a vector"),
        pytest.param(stream(META, 32, "100"), id="a launch is all it costs"),
    ],
)
def test_tiny_block(source):
    found = run_rule("KL202", source)
    assert (found.only().symbol, found.only().kernel) == ("launch", "pointwise")
    (launch,) = found.after().launches()
    assert launch.constexprs["SIZE"] * 2 >= 16 * 32 * launch.num_warps
    before = found.contexts[0].workload.launches()[0]
    assert launch.grid != before.grid or before.programs == 4


def test_tiny_block_of_open_size():
    found = run_rule("KL202", stream(META, 32).replace("def get_inputs", "def unused"))
    assert found.only().change is not None
    assert found.after().launches()[0].constexprs["SIZE"] == 512  # 16 bytes of fp32, the type assumed, for 128 threads


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(stream(META, 1024), id="full vectors"),
        pytest.param(stream(META, 32).replace("SIZE=32)", "SIZE=32, num_warps=1)").replace("SIZE=32", "SIZE=256"), id="one warp"),
        pytest.param(stream(NAMED, 32).replace("(triton.cdiv(a.numel(), size),)", "(524288,)"), id="the grid does not follow"),
        pytest.param(stream(META, 32).replace("i, gelu(v)", "i, tl.cumsum(v, axis=0)"), id="lanes depend on each other"),
        pytest.param(
            stream(META, 32)
            .replace(
                "@triton.jit\ndef pointwise",
                '@triton.autotune(configs=[triton.Config({"SIZE": 32})], key=["n"])\n@triton.jit\ndef pointwise',
            )
            .replace(", SIZE=32)", ")"),
            id="autotuned",
        ),
    ],
)  # fmt: skip
def test_block_large_enough_or_bound(source):
    assert not run_rule("KL202", source)


GROUPS = """
@triton.jit
def quantise(x, scale, y, n, GROUP: tl.constexpr):
    block = tl.program_id(0)
    i = block * GROUP + tl.arange(0, GROUP)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, (v / tl.load(scale + block)).to(tl.int8), mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x, scale):
        y = torch.empty(x.shape, dtype=torch.int8, device=x.device)
        quantise[(triton.cdiv(x.numel(), 64),)](x, scale, y, x.numel(), GROUP=64)
        return y

def get_inputs():
    return [torch.randn(8192, 4096), torch.rand(524288)]
"""


def test_a_block_is_a_group_of_values():
    """A value that is loaded by the number of the block belongs to blocks of that size: more of them a program, no larger one."""
    found = run_rule("KL202", GROUPS)
    assert not any("GROUP=" in f.change.method for f in found.findings if f.change is not None)
    same = GROUPS.replace("tl.load(scale + block)", "tl.load(scale + i // 64, mask=i < n)")
    assert any("GROUP=" in f.change.method for f in run_rule("KL202", same).findings if f.change is not None)


ROWS = """
@triton.jit
def rms_norm(x, w, y, stride, D: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, D)
    v = tl.load(x + row * stride + i).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / D + 1e-6)
    tl.store(y + row * stride + i, v * scale * tl.load(w + i))

def normalise(x, w):
    y = torch.empty_like(x)
    rms_norm[(x.shape[0],)](x, w, y, x.stride(0), D=x.shape[1])
    return y

ROWS, D = 300000, 128

class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        return normalise(x, w)

def get_inputs():
    return [torch.randn(ROWS, D, dtype=torch.float16), torch.randn(D)]
"""


def test_short_rows_are_packed():
    found = run_rule("KL202", ROWS)
    assert found.only().symbol == "normalise"
    assert found.promised() > 1.5


@pytest.mark.parametrize(
    ("name", "value"), [pytest.param("D", 4096, id="long rows"), pytest.param("ROWS", 64, id="few rows")]
)
def test_rows_worth_a_program(name, value):
    assert not run_rule("KL202", ROWS, **{name: value})


def test_rows_of_a_width_that_nobody_tells_are_not_called_short():
    source = "from elsewhere import width_for\n" + ROWS.replace("D=x.shape[1]", "D=width_for(x.shape[1])")
    assert not run_rule("KL202", source)


MATMUL = """
@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    {zero}
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + n[None, :] * K + (start + k)[:, None])
        acc = tl.dot(x, y, acc)
        {more}
    tl.store(c + m[:, None] * N + n[None, :], acc)

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(2048, 2048, device=a.device, dtype=torch.float32)
        grid = lambda meta: (2048 // meta["BM"], 2048 // meta["BN"])
        matmul[grid](a, b, c, 2048, 2048, {options})
        return c

def get_inputs():
    return [torch.randn(2048, 2048, dtype=torch.float16), torch.randn(2048, 2048, dtype=torch.float16)]
"""


def matmul(options: str, zero: str = "pass", more: str = "pass") -> str:
    return MATMUL.format(options=options, zero=zero, more=more)


SECOND = {"zero": "other = tl.zeros((BM, BN), tl.float32)", "more": "other = tl.dot(x, y * 2, other)"}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(matmul("BM=128, BN=256, BK=64"), id="default warps"),
        pytest.param(matmul("BM=256, BN=256, BK=32, num_warps=8"), id="eight warps"),
        pytest.param(matmul("BM=128, BN=128, BK=64, num_warps=4", **SECOND), id="two accumulators"),
    ],
)
def test_accumulator_spills(source):
    found = run_rule("KL206", source)
    assert found.only().symbol == "matmul"
    assert found.after().launches()[0].num_warps > found.contexts[0].workload.launches()[0].num_warps


@pytest.mark.parametrize(
    ("source", "device"),
    [
        pytest.param(matmul("BM=128, BN=256, BK=64, num_warps=8"), "h100-sxm", id="enough warps"),
        pytest.param(matmul("BM=128, BN=128, BK=64, num_warps=4"), "h100-sxm", id="half as many"),
        pytest.param(
            matmul("BM=128, BN=128, BK=64, num_warps=8", **SECOND), "h100-sxm", id="two accumulators, eight warps"
        ),
        pytest.param(matmul("BM=128, BN=256, BK=64"), "b200", id="tensor memory"),
    ],
)
def test_accumulator_fits(source, device):
    assert not run_rule("KL206", source, device)


@pytest.mark.parametrize(
    ("options", "device", "fitting"),
    [
        pytest.param("BM=128, BN=256, BK=64, num_warps=8, num_stages=5", "h100-sxm", 4, id="H100: all stages"),
        pytest.param(
            "BM=128, BN=256, BK=64, num_warps=8, num_stages=5", "a100-80gb-sxm", 4, id="A100: one less, less memory"
        ),
        pytest.param("BM=128, BN=128, BK=64, num_warps=8, num_stages=5", "l4", 4, id="Ada has 99 KB"),
    ],
)
def test_stages_do_not_fit(options, device, fitting):
    found = run_rule("KL207", matmul(options), device)
    assert found.only().severity == "error"
    assert found.after().launches()[0].num_stages == fitting


@pytest.mark.parametrize(
    ("source", "device"),
    [
        pytest.param(matmul("BM=128, BN=256, BK=64, num_warps=8, num_stages=4"), "h100-sxm", id="four stages on an H100"),
        pytest.param(matmul("BM=128, BN=256, BK=64, num_warps=8, num_stages=4"), "a100-80gb-sxm", id="three and a bit on an A100"),
        pytest.param(matmul("BM=256, BN=256, BK=128, num_warps=8, num_stages=1"), "h100-sxm", id="nothing is staged"),
        pytest.param(
            matmul("BM=128, BN=256, BK=64, num_warps=8, num_stages=5")
            .replace("range(0, K, BK)", "tl.range(0, K, BK, num_stages=2)"),
            "h100-sxm", id="the loop says two",
        ),
        pytest.param(
            matmul("BM=64, BN=256, BK=256, num_warps=8, num_stages=4")
            .replace("float16", "int8")
            .replace("tl.zeros((BM, BN), tl.float32)", "tl.zeros((BM, BN), tl.int32)")
            .replace("b + n[None, :] * K + (start + k)[:, None]", "b + n[None, :] + (start + k)[:, None] * N"),
            "h100-sxm", id="an operand that Hopper loads synchronously",
        ),
    ],
)  # fmt: skip
def test_stages_fit(source, device):
    assert not run_rule("KL207", source, device)
