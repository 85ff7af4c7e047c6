"""KL104 and KL103 on loops of dots in fp32 whose data are 16-bit tensors: what may be rounded to 16 bits, and what may not."""

from pathlib import Path

import pytest
from support.findings import HEADER, run_rule
from support.fixes import changed, fixed, refusal
from support.rewriting import assert_same_results, needs_interpreter

#: Linear attention in chunks: the state is a sum.
CHUNKS = """
@triton.jit
def chunks(q, k, v, o, T, D: tl.constexpr, C: tl.constexpr):
    base = tl.program_id(0) * T * D
    d, c = tl.arange(0, D), tl.arange(0, C)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, T, C):
        at = base + (start + c)[:, None] * D + d[None, :]
        a = tl.load(q + at).to(tl.float32)
        b = tl.load(k + at).to(tl.float32)
        x = tl.load(v + at).to(tl.float32)
        out = tl.dot(a, state, input_precision="ieee")
        scores = tl.where(c[:, None] >= c[None, :], tl.dot(a, tl.trans(b), input_precision="ieee"), 0.0)
        out += tl.dot(scores, x, input_precision="ieee")
        state += tl.dot(tl.trans(b), x, input_precision="ieee")
        tl.store(o + at, out.to(tl.bfloat16))

class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        o = torch.empty_like(q)
        chunks[(64,)](q, k, v, o, 2048, D=64, C=32)
        return o

def get_inputs():
    return [torch.randn(64, 2048, 64, dtype=torch.bfloat16) for _ in range(3)]
"""
STATE = 'state += tl.dot(tl.trans(b), x, input_precision="ieee")'
DECAYED = CHUNKS.replace(STATE, 'state = state * 0.97 + tl.dot(tl.trans(b), x, input_precision="ieee")')
ACCUMULATED = CHUNKS.replace(STATE, 'state = tl.dot(tl.trans(b), x, state, input_precision="ieee")')
#: Each step corrects the state by what it already gives: errors of one step are factors in the next.
DELTA = CHUNKS.replace(
    STATE,
    'left = x - tl.dot(b, state, input_precision="ieee")\n'
    '        state += tl.dot(tl.trans(b), left, input_precision="ieee")',
)
PROPAGATED = CHUNKS.replace(STATE, 'state = tl.dot(tl.dot(tl.trans(b), x, input_precision="ieee"), state)')

#: The inner loop of attention, all in fp32.
ATTENTION = """
@triton.jit
def attend(q, k, v, o, T, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    base = tl.program_id(1) * T * D
    d, m, n = tl.arange(0, D), tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    a = tl.load(q + base + m[:, None] * D + d[None, :]).to(tl.float32)
    top, total = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    for start in range(0, T, N):
        at = base + (start + n)[:, None] * D + d[None, :]
        b = tl.load(k + at).to(tl.float32)
        x = tl.load(v + at).to(tl.float32)
        s = tl.dot(a, tl.trans(b), allow_tf32=False) * 0.125
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, axis=1)
        acc = acc * shrink[:, None] + tl.dot(p, x, allow_tf32=False)
        top = new
    tl.store(o + base + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))

class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        o = torch.empty_like(q)
        attend[(16, 32)](q, k, v, o, 1024, D=64, M=64, N=32)
        return o

def get_inputs():
    return [torch.randn(32, 1024, 64, dtype=torch.float16) for _ in range(3)]
"""

#: A product whose rows are scaled in fp32 on their way.
SCALED = """
@triton.jit
def scaled(x, s, w, y, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    m, n, k = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, B)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, B):
        gain = tl.load(s + start + k).to(tl.float32)
        a = tl.load(x + m[:, None] * K + (start + k)[None, :]).to(tl.float32) * gain[None, :]
        b = tl.load(w + n[None, :] * K + (start + k)[:, None]).to(tl.float32)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(y + m[:, None] * 2048 + n[None, :], acc.to(tl.float16))

class ModelNew(torch.nn.Module):
    def forward(self, x, s, w):
        y = torch.empty(2048, 2048, device=x.device, dtype=x.dtype)
        scaled[(32, 32)](x, s, w, y, 1024, M=64, N=64, B=32)
        return y

def get_inputs():
    return [torch.randn(2048, 1024).half(), torch.randn(1024).half(), torch.randn(2048, 1024).half()]
"""

HELPER = CHUNKS.replace(
    "@triton.jit\ndef chunks",
    "@triton.jit\ndef wide(p):\n    return tl.load(p).to(tl.float32)\n\n@triton.jit\ndef chunks",
)
for name in "qkv":
    HELPER = HELPER.replace(f"tl.load({name} + at).to(tl.float32)", f"wide({name} + at)")


@pytest.mark.parametrize(
    ("source", "dots"),
    [
        pytest.param(CHUNKS, 4, id="a state that is a sum"),
        pytest.param(DECAYED, 4, id="a state that decays"),
        pytest.param(ACCUMULATED, 4, id="a state as the accumulator"),
        pytest.param(CHUNKS.replace("bfloat16", "float16"), 4, id="fp16"),
        pytest.param(CHUNKS.replace("state", "memory"), 4, id="another name"),
        pytest.param(CHUNKS.replace(STATE, f"{STATE}  # ieee on purpose"), 4, id="a comment changes nothing"),
        pytest.param(CHUNKS.replace('input_precision="ieee"', "allow_tf32=False"), 4, id="the older spelling"),
        pytest.param(HELPER, 4, id="a helper loads and widens"),
        pytest.param(ATTENTION, 2, id="attention"),
        pytest.param(SCALED, 1, id="a scale on the way"),
    ],
)
def test_all_dots_of_the_loop_at_once(source: str, dots: int) -> None:
    found = run_rule("KL104", source)
    finding = found.only()
    assert f"runs {dots} tl.dot" in finding.message
    after = found.after().launches()[0].kernel.dots()
    assert [dot.precision for dot in after] == ["tf32"] * dots
    assert {operand.dtype.bits for dot in after for operand in (dot.a, dot.b)} == {16}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(DELTA, id="a delta rule"),
        pytest.param(PROPAGATED, id="a state that is multiplied into the next"),
        pytest.param(
            CHUNKS.replace("empty_like(q)", "empty_like(q, dtype=torch.float32)").replace("out.to(tl.bfloat16)", "out"),
            id="an fp32 result",
        ),
        pytest.param(CHUNKS.replace(', input_precision="ieee"', ""), id="tf32 already"),
        pytest.param(CHUNKS.replace('input_precision="ieee"', 'input_precision="tf32x3"'), id="tf32x3"),
        pytest.param(
            CHUNKS.replace("C: tl.constexpr)", "C: tl.constexpr, P: tl.constexpr)")
            .replace('input_precision="ieee"', "input_precision=P")
            .replace("C=32)", "C=32, P=PRECISION)")
            .replace("class ModelNew", "import os\nPRECISION = os.environ['P']\n\nclass ModelNew"),
            id="a precision from the environment",
        ),
        pytest.param(
            SCALED.replace("acc = tl.dot(a, b, acc", "acc = tl.dot(a, b * gain[:, None], acc"),
            id="both operands computed",
        ),
        pytest.param(SCALED.replace(" * gain[None, :]", ""), id="nothing computed: KL103"),
        pytest.param(
            SCALED.replace("torch.randn(2048, 1024).half()]", "torch.randn(2048, 1024)]"), id="an fp32 weight"
        ),
    ],
)
def test_silent(source: str) -> None:
    assert not run_rule("KL104", source)


def test_fp32_tensors_keep_their_bits() -> None:
    """The product of two of them is another matter, and tf32 the advice."""
    found = run_rule("KL104", CHUNKS.replace("dtype=torch.bfloat16", "dtype=torch.float32"))
    finding = found.findings[0]
    assert finding.change is not None and "tf32" in finding.change.method


# -- the edits --------------------------------------------------------------------------------------------------------

#: A backward pass: two products of loaded tiles, and two of what is made of these and a loaded tile.
BACKWARD = """
@triton.jit
def backward(q, k, v, g, dk, dv, T, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    base = tl.program_id(1) * T * D
    d, m, n = tl.arange(0, D), tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N)
    at = base + n[:, None] * D + d[None, :]
    b = tl.load(k + at).to(tl.float32)
    x = tl.load(v + at).to(tl.float32)
    sum_k, sum_v = tl.zeros((N, D), tl.float32), tl.zeros((N, D), tl.float32)
    for start in range(0, T, M):
        rows = base + (start + m)[:, None] * D + d[None, :]
        a = tl.load(q + rows).to(tl.float32)
        up = tl.load(g + rows).to(tl.float32)
        p = 1.0 / (1.0 + tl.exp(-0.125 * tl.dot(b, tl.trans(a))))
        sum_v += tl.dot(p, up)
        down = tl.dot(x, tl.trans(up)) * p * (1.0 - p)
        sum_k = tl.dot(down * 0.125, a, sum_k)
    tl.store(dk + at, sum_k.to(tl.float16))
    tl.store(dv + at, sum_v.to(tl.float16))

class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, g):
        dk, dv = torch.empty_like(k), torch.empty_like(v)
        backward[(32, 32)](q, k, v, g, dk, dv, 2048, D=64, M=64, N=64, num_warps=4)
        return dk, dv

def get_inputs():
    return [torch.randn(32, 2048, 64).half() * 0.3 for _ in range(4)]
"""
FP32_GRADIENT = BACKWARD.replace("sum_v.to(tl.float16)", "sum_v").replace(
    "empty_like(v)", "empty_like(v, dtype=torch.float32)"
)
ROUNDED = {"sum_v += tl.dot(p.to(up.dtype), up)", "sum_k = tl.dot((down * 0.125).to(a.dtype), a, sum_k)"}


@needs_interpreter
@pytest.mark.parametrize(
    ("rule", "source", "came", "small"),
    [
        pytest.param("KL103", BACKWARD, ROUNDED, {"(32, 32)": "(2, 2)", "2048": "128", "(32, ": "(2, "}, id="a backward pass"),
        pytest.param("KL104", SCALED, {"acc = tl.dot(a.to(b.dtype), b, acc)"}, {"2048": "128", "(32, 32)": "(2, 2)", "1024": "96"},
                     id="a scale on the way"),
        pytest.param("KL104", ATTENTION, {"s = tl.dot(a, tl.trans(b)) * 0.125", "acc = acc * shrink[:, None] + tl.dot(p.to(x.dtype), x)"},
                     {"(16, 32)": "(2, 2)", "1024": "128", "(32, ": "(2, "}, id="attention"),
    ],
)  # fmt: skip
def test_computed_operands_take_the_type_of_the_others(
    rule: str, source: str, came: set[str], small: dict[str, str], tmp_path: Path
) -> None:
    made = fixed(HEADER + source, rule)
    (applied,) = made.applied
    assert (applied.effects.applicability, applied.effects.numerics) == ("unsafe", "changed")
    assert any("65,504" in note for note in applied.effects.notes)
    _, lines = changed(made)
    assert came <= set(lines) and not any("float32" in line for line in lines)
    before, after = made.before, made.after
    for old, new in small.items():
        before, after = before.replace(old, new), after.replace(old, new)
    assert_same_results(tmp_path, before, after, tolerance=1e-2, header=False)


def test_what_else_reads_a_widened_tile_keeps_it_wide() -> None:
    made = fixed(HEADER + BACKWARD.replace("sum_v += tl.dot(p, up)", "sum_v += tl.dot(p, up) * tl.sum(a)"), "KL103")
    assert "tl.sum(a.to(tl.float32))" in made.after


def test_a_name_of_its_own_goes() -> None:
    source = BACKWARD.replace("tl.load(g + rows).to(tl.float32)", "tl.load(g + rows)\n        wide = up.to(tl.float32)")
    source = source.replace("tl.dot(p, up)", "tl.dot(p, wide)").replace("tl.trans(up)", "tl.trans(wide)")
    made = fixed(HEADER + source, "KL103")
    assert "tl.dot(p.to(up.dtype), up)" in made.after and "wide" not in made.after


def test_a_bf16_state_is_rounded_and_an_fp16_one_may_overflow() -> None:
    made = fixed(HEADER + CHUNKS, "KL104")
    assert "tl.dot(a, state.to(a.dtype))" in made.after and "ieee" not in made.after
    assert "65,504" in refusal(HEADER + CHUNKS.replace("bfloat16", "float16"), "KL104")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param(BACKWARD.replace("float16", "bfloat16").replace("half()", "bfloat16()"), True, id="bf16"),
        pytest.param(BACKWARD, True, id="a backward pass"),
        pytest.param(DELTA.replace(', input_precision="ieee"', ""), False, id="a delta rule"),
        pytest.param(ATTENTION.replace(", allow_tf32=False", ""), False, id="an online softmax: KL106"),
        pytest.param(FP32_GRADIENT, False, id="an fp32 gradient"),
        pytest.param(BACKWARD.replace("64).half()", "64)"), False, id="fp32 tensors"),
    ],
)  # fmt: skip
def test_dots_in_tf32(source: str, found: bool) -> None:
    assert any("tf32 precision" in one.message for one in run_rule("KL103", source).findings) == found
