"""KL506: convolutions computed directly."""

import pytest
from support.findings import run_rule

KERNEL = """
@triton.jit
def conv(x, w, b, y, C, O, H, W, K: tl.constexpr, BLOCK: tl.constexpr):
    {ids}
    p = tile * BLOCK + tl.arange(0, BLOCK)
    r, c = p // W, p % W
    total = tl.zeros((BLOCK,), tl.float32)
    {loops}
    tl.store(y + (image * O + o) * H * W + p, (total + tl.load(b + o)).to(tl.float16), mask=p < H * W)

N, C, O, S = 8, 64, 64, 56

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn({weight}, dtype=torch.float16))
        self.b = torch.nn.Parameter(torch.randn(O, dtype=torch.float16))

    def forward(self, x):
        y = torch.empty(N, O, S, S, device=x.device, dtype=x.dtype)
        conv[{grid}](x, self.w, self.b, y, C, O, S, S, K=3, BLOCK=256)
        return y

def get_inputs():
    return [torch.randn(N, C, S, S, dtype=torch.float16)]
"""
PLANES = "plane, tile = tl.program_id(0), tl.program_id(1)\n    image, o = plane // O, plane % O"
AXES = "tile, o, image = tl.program_id(0), tl.program_id(1), tl.program_id(2)"
WINDOW = "ok = (r + i >= 1) & (r + i < H + 1) & (c + j >= 1) & (c + j < W + 1) & (p < H * W)"
LOOPS = f"""for ic in range(C):
        for i in range(K):
            for j in range(K):
                {WINDOW}
                v = tl.load(x + ((image * C + ic) * H + r + i - 1) * W + c + j - 1, mask=ok, other=0.0)
                total += v.to(tl.float32) * tl.load(w + ((o * C + ic) * K + i) * K + j).to(tl.float32)"""
UNROLLED = LOOPS.replace("for i in range(K)", "for i in tl.static_range(K)").replace(
    "for j in range(K)", "for j in tl.static_range(K)"
)
DEPTHWISE = (
    LOOPS.replace("image * C + ic", "image * C + o")
    .replace("(o * C + ic)", "o")
    .replace("for ic in range(C)", "for ic in range(1)")
)
POINTWISE = """for ic in range(C):
        v = tl.load(x + (image * C + ic) * H * W + p, mask=p < H * W, other=0.0)
        total += v.to(tl.float32) * tl.load(w + o * C + ic).to(tl.float32)"""
POOL = LOOPS.replace(" * tl.load(w + ((o * C + ic) * K + i) * K + j).to(tl.float32)", "")


def program(loops=LOOPS, ids=PLANES, grid="(N * O, triton.cdiv(S * S, 256))", weight="O, C, 3, 3"):
    return KERNEL.format(loops=loops, ids=ids, grid=grid, weight=weight)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(), id="planes"),
        pytest.param(program(ids=AXES, grid="(triton.cdiv(S * S, 256), O, N)"), id="three axes"),
        pytest.param(program(UNROLLED), id="unrolled taps"),
        pytest.param(
            program(
                LOOPS.replace("tl.load(w", "tl.load(w")
                .replace("v = tl.load", "value = tl.load")
                .replace("v.to", "value.to")
            ),
            id="renamed",
        ),
    ],
)
def test_becomes_an_implicit_gemm(source):
    found = run_rule("KL506", source)
    assert found.only().symbol == "conv"
    assert found.promised() > 1.5


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(DEPTHWISE, weight="O, 1, 3, 3"), id="depthwise"),
        pytest.param(program(POINTWISE, weight="O, C"), id="pointwise has no windows"),
        pytest.param(program(POOL), id="sum pooling"),
        pytest.param(
            program(weight="2, C, 3, 3").replace("O, S = 8, 64, 64, 56", "O, S = 8, 64, 2, 56"),
            id="two output channels",
        ),
    ],
)
def test_other_windows_stay(source):
    assert not run_rule("KL506", source)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(), id="as many pixels as a tile"),
        pytest.param(program(UNROLLED, AXES, "(1, O, N)"), id="on three axes"),
    ],
)
def test_one_tile_for_each_plane(source):
    (finding,) = run_rule("KL506", source.replace("S = 8, 64, 64, 56", "S = 8, 64, 64, 16")).findings
    assert "2,048 pixels" in finding.change.method


FLAT = """
@triton.jit
def conv(x, w, y, N, IC, IH, IW, OC, KH, KW, PAD, OH, OW, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < total
    ow = i % OW
    oh = i // OW % OH
    oc = i // OW // OH % OC
    n = i // OW // OH // OC
    acc = tl.zeros((BLOCK,), tl.float32)
    for ic in range(IC):
        for kh in range(KH):
            ih = oh + kh - PAD
            rows = (ih >= 0) & (ih < IH)
            for kw in range(KW):
                iw = ow + kw - PAD
                ok = inside & rows & (iw >= 0) & (iw < IW)
                v = tl.load(x + ((n * IC + ic) * IH + ih) * IW + iw, mask=ok, other=0.0)
                acc += v * tl.load(w + ((oc * IC + ic) * KH + kh) * KW + kw, mask=inside, other=0.0)
    tl.store(y + i, acc, mask=inside)

N, C, O, S = 8, 32, 64, 56

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(O, C, 3, 3))

    def forward(self, x):
        y = torch.empty(N, O, S, S, device=x.device)
        conv[(triton.cdiv(y.numel(), 128),)](x, self.w, y, N, C, S, S, O, 3, 3, 1, S, S, y.numel(), BLOCK=128)
        return y

def get_inputs():
    return [torch.randn(N, C, S, S)]
"""
CLAMPED = [("rows = (ih >= 0)", "rows = (ih >= 0)"), ("ih) * IW + iw, mask", "tl.where(rows, ih, 0)) * IW + iw, mask")]
TRANSPOSED = [
    ("randn(O, C, 3, 3)", "randn(C, O, 3, 3)"),
    ("((oc * IC + ic) * KH + kh)", "((ic * OC + oc) * KH + kh)"),
    ("oh + kh - PAD", "oh + PAD - kh"),
    ("ow + kw - PAD", "ow + PAD - kw"),
]


def changed(*edits):
    source = FLAT
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([], id="as it is"),
        pytest.param(CLAMPED, id="clamped rows"),
        pytest.param(TRANSPOSED, id="transposed"),
        pytest.param([("ic in range(IC)", "ic in tl.range(0, IC)")], id="tl.range"),
        pytest.param(
            [("acc += v * tl.load(w", "acc += tl.load(w"), ("other=0.0)\n    tl.store", "other=0.0) * v\n    tl.store")],
            id="the weight first",
        ),
    ],
)  # fmt: skip
def test_one_output_element_a_lane(edits):
    found = run_rule("KL506", changed(*edits))
    change = found.only().change
    assert change is not None and "64 output channels by 25,088 pixels, summed over 288" in change.method
    assert found.promised() > 1.5


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(
            [("randn(O, C, 3, 3)", "randn(O, 1, 3, 3)"), ("in range(IC)", "in range(1)"), ("n * IC + ic)", "n * IC + oc // 2)")],
            id="depthwise",
        ),
        pytest.param([("tl.store(y + i, acc", "tl.store(y + total - 1 - i, acc")], id="written backwards"),
        pytest.param([("oc * IC + ic", "n * IC + ic")], id="weights by image"),
        pytest.param([("randn(O, C, 3, 3)", "randn(2 * O, C, 3, 3)")], id="half of the weights"),
        pytest.param([(" % OC", " % 3")], id="a few channels again and again"),
    ],
)  # fmt: skip
def test_other_sums_of_products_a_lane(edits):
    assert not run_rule("KL506", changed(*edits))


TAPS_OUTSIDE = """for kh in tl.static_range(3):
        ih = oh + kh - PAD
        rows = (ih >= 0) & (ih < IH)
        for kw in tl.static_range(3):
            iw = ow + kw - PAD
            ok = inside & rows & (iw >= 0) & (iw < IW)
            for ic in range(IC):
                v"""


@pytest.mark.parametrize("edits", [[], TRANSPOSED], ids=["direct", "transposed"])
def test_taps_unrolled_around_the_loop_over_channels(edits):
    source = FLAT[: FLAT.index("for ic in")] + TAPS_OUTSIDE + FLAT[FLAT.index(" = tl.load(x") :]
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    (finding,) = run_rule("KL506", source).findings
    assert "summed over 288" in finding.change.method and "32 x 9" in finding.evidence[0].text


def test_axes_of_one_element_are_no_axes():
    wide = [
        (
            "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
            "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None] + tl.arange(0, 1)[None, :]",
        ),
        ("tl.zeros((BLOCK,)", "tl.zeros((BLOCK, 1)"),
    ]
    assert run_rule("KL506", changed(*wide))


def test_clamped_indices_cost_what_the_indices_do():
    times = []
    for edits in ([], CLAMPED):
        (context,) = run_rule("KL506", changed(*edits)).contexts
        times.append(context.gpu_us(context.variant))
    assert times[1] == pytest.approx(times[0], rel=0.3)


@pytest.mark.parametrize("ids", [PLANES, AXES], ids=["planes", "three axes"])
def test_one_channel_a_program_with_clamped_windows(ids):
    clamped = LOOPS.replace("* H + r + i - 1) * W", "* H + tl.where(ok, r + i - 1, 0)) * W")
    assert clamped != LOOPS
    grid = "(N * O, triton.cdiv(S * S, 256))" if ids == PLANES else "(triton.cdiv(S * S, 256), O, N)"
    (finding,) = run_rule("KL506", program(clamped, ids, grid)).findings
    assert "64 output channels by 25,088 pixels" in finding.change.method


def test_clamped_windows_of_each_channel_alone():
    clamped = DEPTHWISE.replace("* H + r + i - 1) * W", "* H + tl.where(ok, r + i - 1, 0)) * W")
    assert clamped != DEPTHWISE
    assert not run_rule("KL506", program(clamped, weight="O, 1, 3, 3"))
