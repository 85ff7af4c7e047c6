"""KL502 on outer products summed over nested and unrolled loops, KL312 on operands that lie scattered in memory."""

import pytest
from support.findings import run_rule

CONV = """
@triton.jit
def conv(x, w, y, H, W, OH, OW, C: tl.constexpr, O: tl.constexpr, K: tl.constexpr, BP: tl.constexpr, BO: tl.constexpr):
    image = tl.program_id(0)
    p = tl.program_id(1) * BP + tl.arange(0, BP)
    o = tl.program_id(2) * BO + tl.arange(0, BO)
    r, c = p // OW, p % OW
    acc = tl.zeros((BP, BO), tl.float32)
    for ic in range(C):
        for i in range(K):
            for j in range(K):
                a, b = r - i, c - j
                ok = (p < OH * OW) & (a >= 0) & (a < H) & (b >= 0) & (b < W)
                v = tl.load(x + ((image * C + ic) * H + a) * W + b, mask=ok, other=0.0)
                f = tl.load(w + ((ic * O + o) * K + i) * K + j, mask=o < O, other=0.0)
                acc += v[:, None] * f[None, :]
    tl.store(y + (image * O + o[None, :]) * OH * OW + p[:, None], acc, mask=(p < OH * OW)[:, None] & (o < O)[None, :])

N, C, O, S, K = 8, 64, 64, 56, 3

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(C, O, K, K))

    def forward(self, x):
        T = S + K - 1
        y = torch.empty(N, O, T, T, device=x.device, dtype=x.dtype)
        conv[(N, triton.cdiv(T * T, 128), O // 32)](x, self.w, y, S, S, T, T, C=C, O=O, K=K, BP=128, BO=32)
        return y

def get_inputs():
    return [torch.randn(N, C, S, S)]
"""
ALL = ("in range(C)", "in range(K)")


def program(*edits):
    source = CONV
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return source


TAPS_FIRST = (
    ("for ic in range(C)", "for i in range(K)  # 1"),
    ("        for i in range(K):", "        for j in range(K):"),
    ("            for j in range(K):\n                a", "            for ic in range(C):\n                a"),
)
HITS = {
    "channels outside": (),
    "taps unrolled": (("in range(K)", "in tl.static_range(K)"),),
    "all unrolled": (("in range(K)", "in tl.static_range(K)"), ("in range(C)", "in tl.static_range(C)")),
    "a square tile": (("BP=128", "BP=32"),),
    "the other way round": (("v[:, None] * f[None, :]", "f[None, :] * v[:, None]"),),
    "written out": (("acc += v", "acc = acc + v"),),
    "clamped": (("* H + a)", "* H + tl.where(ok, a, 0))"),),
    "renamed": (("acc", "t0"), ("ic", "q0")),
}


@pytest.mark.parametrize("edits", HITS.values(), ids=HITS)
def test_a_nest_of_loops_is_a_product_of_tiles(edits):
    found = run_rule("KL502", program(*edits), "rtx-4090")
    assert "outer products" in found.only().message
    assert found.promised() > 1.2


NO_HITS = {
    "few channels": (("64, 64, 56, 3", "8, 64, 56, 3"),),
    "a sum for each channel": (("        for i in range(K):", "        acc = acc * 0.5\n        for i in range(K):"),),
    "a larger value instead of a sum": (
        ("acc += v[:, None] * f[None, :]", "acc = tl.maximum(acc, v[:, None] * f[None, :])"),
    ),
    "channels that share the weights": (("((ic * O + o) * K", "(o * K"), ("randn(C, O", "randn(O")),
    "a difference": (("v[:, None] * f", "v[:, None] - f"),),
}


@pytest.mark.parametrize("edits", NO_HITS.values(), ids=NO_HITS)
def test_nests_that_are_no_product(edits):
    assert not run_rule("KL502", program(*edits), "rtx-4090")


DOTS = """
@triton.jit
def conv(x, w, y, T, C: tl.constexpr, O: tl.constexpr, TAPS: tl.constexpr, BO: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    n = tl.program_id(2)
    acc = tl.zeros((BO, BT), tl.float32)
    for tap in range(TAPS):
        for start in range(0, C, BC):
            c = start + tl.arange(0, BC)
            i = t + tap - TAPS // 2
            a = tl.load(w + o[:, None] * (C * TAPS) + c[None, :] * TAPS + tap)
            b = tl.load(x + (n * C + c[:, None]) * T + i[None, :], mask=((i >= 0) & (i < T))[None, :], other=0.0)
            acc = tl.dot(a, b, acc)
    tl.store(y + (n * O + o[:, None]) * T + t[None, :], acc.to(tl.float16), mask=(t < T)[None, :])

N, C, O, T, TAPS = 16, 256, 256, 8192, 31

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(O, C, TAPS, dtype=torch.float16))

    def forward(self, x):
        y = torch.empty(N, O, T, device=x.device, dtype=x.dtype)
        conv[(triton.cdiv(T, 64), O // 64, N)](x, self.w, y, T, C=C, O=O, TAPS=TAPS, BO=64, BT=64, BC=32)
        return y

def get_inputs():
    return [torch.randn(N, C, T, dtype=torch.float16)]
"""
SCATTERED = {
    "as it is": (),
    "the weights second": (
        ("acc = tl.dot(a, b, acc)", "acc = tl.dot(tl.trans(b), tl.trans(a), acc)"),
        ("tl.zeros((BO, BT)", "tl.zeros((BT, BO)"),
        ("acc.to(tl.float16)", "tl.trans(acc).to(tl.float16)"),
    ),
    "a transposed convolution's": (
        ("o[:, None] * (C * TAPS) + c[None, :] * TAPS", "c[None, :] * (O * TAPS) + o[:, None] * TAPS"),
        ("randn(O, C, TAPS", "randn(C, O, TAPS"),
    ),
    "strides as arguments": (
        ("conv(x, w, y, T,", "conv(x, w, y, T, so, sc, st,"),
        (
            "conv[(triton.cdiv(T, 64), O // 64, N)](x, self.w, y, T,",
            "conv[(triton.cdiv(T, 64), O // 64, N)](x, self.w, y, T, *self.w.stride(),",
        ),
        ("o[:, None] * (C * TAPS) + c[None, :] * TAPS + tap", "o[:, None] * so + c[None, :] * sc + tap * st"),
    ),
}


@pytest.mark.parametrize("edits", SCATTERED.values(), ids=SCATTERED)
def test_scattered_weights_are_packed(edits):
    source = DOTS
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    found = run_rule("KL312", source)
    finding = found.only()
    assert "62 and " in finding.message and ".permute(2, " in finding.change.plan
    (launch,) = found.after().launches()
    strides = {(o.k_stride, o.other_stride) for dot in launch.kernel.dots() for o in (dot.a, dot.b)}
    assert (256, 1) in strides


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("TAPS = 16, 256, 256, 8192, 31", "TAPS = 16, 256, 256, 8192, 3", id="neighbours in one sector"),
        pytest.param("N, C, O, T, TAPS = 16, 256, 256, 8192", "N, C, O, T, TAPS = 1, 256, 64, 64", id="read once"),
        pytest.param("c[None, :] * TAPS + tap", "c[None, :] + tap * C", id="packed already"),
        pytest.param("self.w, y, T", "self.w[:, :, 0], y, T", id="a view with gaps"),
        pytest.param("acc = tl.dot(a, b, acc)", "acc = tl.dot(a * 2, b, acc)", id="computed on chip"),
    ],
)
def test_operands_that_are_left_alone(old, new):
    assert old in DOTS
    assert not run_rule("KL312", DOTS.replace(old, new))


def test_a_loop_that_stores_is_no_loop_over_tiles():
    stored = ("acc += v[:, None] * f[None, :]", "acc += v[:, None] * f[None, :]\n                tl.store(y + ic, 0.0)")
    assert not run_rule("KL502", program(stored), "rtx-4090")
