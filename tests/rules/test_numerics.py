"""KL774 to KL784: arithmetic that loses what it computes, and hints that are not true."""

from textwrap import dedent

import pytest
from support.findings import run_rule

from kernlint.rules.registry import find_rule

PROGRAM = """
@triton.jit
def largest(v):
    return tl.max(tl.abs(v), axis=0)

@triton.jit
def kernel(x, w, o, n, eps, stride, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * B + c)
    u = tl.load(w + row * B + c)
    {body}

def run(x, w, n: int, eps: float):
    assert x.dtype == torch.{dtype} and w.dtype == torch.{dtype}
    o = torch.empty(64, 1024, device=x.device, dtype=torch.float32)
    kernel[(64,)](x, w, o, n, eps, 1000, B=1024)
    return o
"""


def found(code, body, dtype="float32"):
    text = PROGRAM.replace("{dtype}", dtype).replace("{body}", ("\n" + " " * 4).join(body.split("\n")))
    return run_rule(code, text)


SOFTMAX = """m = tl.full((), {low}, tl.float32)
total = 0.0
for s in range(0, n, B):
    q = tl.load(x + s + c)
    q = {masked}
    new = tl.maximum(m, tl.max(q, axis=0))
    {guard}
    total = total * tl.exp(m - new) + tl.sum(tl.exp(q - new), axis=0)
    m = new
tl.store(o, total)"""


@pytest.mark.parametrize(
    "masked",
    [
        pytest.param('tl.where(tl.load(w + s + c) > 0, q, float("-inf"))', id="where"),
        pytest.param('tl.where((c < n) & (tl.load(w + s + c) > 0), q * 2.0, float("-inf"))', id="and bounds"),
        pytest.param('tl.where(tl.load(w + s + c) == 0, float("-inf"), q)', id="other arm"),
        pytest.param('tl.load(x + s + c, mask=tl.load(w + s + c) > 0, other=float("-inf"))', id="load"),
    ],
)
def test_infinite_difference(masked):
    body = SOFTMAX.format(low='float("-inf")', masked=masked, guard="pass")
    assert {finding.severity for finding in found("KL774", body).findings} == {"info"}


@pytest.mark.parametrize(
    ("low", "masked", "guard"),
    [
        pytest.param('float("-inf")', 'tl.where(s + c < n, q, float("-inf"))', "pass", id="bounds"),
        pytest.param('float("-inf")', 'tl.where(c <= row, q, float("-inf"))', "pass", id="causal"),
        pytest.param('float("-inf")', 'tl.where(c < tl.load(w), q, float("-inf"))', "pass", id="a length that was read"),
        pytest.param("-1e30", "tl.where(tl.load(w + s + c) > 0, q, -1e30)", "pass", id="finite"),
        pytest.param("-1e30", 'tl.where(tl.load(w + s + c) > 0, q, float("-inf"))', "pass", id="finite start"),
        pytest.param(
            'float("-inf")', 'tl.where(tl.load(w + s + c) > 0, q, float("-inf"))',
            'new = tl.where(new == float("-inf"), 0.0, new)', id="guard",
        ),
        pytest.param('float("-inf")', "q", "pass", id="no mask"),
    ],
)  # fmt: skip
def test_finite_difference(low, masked, guard):
    assert not found("KL774", SOFTMAX.format(low=low, masked=masked, guard=guard))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("m = tl.sum(v, 0) / n\no1 = tl.sum(v * v, 0) / n - m * m", id="plain"),
        pytest.param(
            "a = tl.sum(v, 0)\nb = tl.sum(v * v, 0)\nm = a * (1.0 / n)\no1 = b * (1.0 / n) - m * m", id="scaled"
        ),
        pytest.param("k = 1.0 / n\nq = v * v\nm = k * tl.sum(v, 0)\no1 = k * tl.sum(q, 0) - m * m", id="renamed"),
        pytest.param(
            "a = 0.0\nb = 0.0\nfor i in range(n):\n    t = tl.load(x + i * B + c)\n    a += tl.sum(t, 0)\n"
            "    b += tl.sum(t * t, 0)\nm = a / n\no1 = b / n - m * m",
            id="accumulated",
        ),
    ],
)
def test_cancelling_variance(body):
    assert found("KL775", body).only().severity == "warning"
    # Whoever keeps it from falling below zero knows that it loses digits.
    clamped = found("KL775", f"{body}\no1 = tl.maximum(o1, 0.0)").only()
    assert (clamped.severity, "maximum" in clamped.evidence[-1].text) == ("info", True)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("m = tl.sum(v, 0) / n\nd = v - m\no1 = tl.sum(d * d, 0) / n", id="two passes"),
        pytest.param("o1 = tl.sum(v * v, 0) / n", id="mean of squares alone"),
        pytest.param("m = tl.sum(u, 0) / n\no1 = tl.sum(v * v, 0) / n - m * m", id="of other values"),
        pytest.param("m = tl.sum(v, 0) / n\no1 = m * m - tl.sum(v * u, 0) / n", id="a product"),
        pytest.param("# mean of squares - mean * mean\no1 = v - u", id="comment"),
    ],
)
def test_sound_variance(body):
    assert not found("KL775", body)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("s = tl.max(tl.abs(v), axis=0) / 127.0\ntl.store(o + c, v / s)", id="scale"),
        pytest.param("s = largest(v)\ntl.store(o + c, v * (127.0 / s))", id="reciprocal, through a helper"),
        pytest.param("s = tl.max(tl.abs(v)) * (1.0 / 127)\ntl.store(o + c, v / s.to(tl.float32))", id="cast"),
        pytest.param("s = tl.maximum(tl.max(tl.abs(v)), tl.max(tl.abs(u)))\ntl.store(o + c, v / s)", id="of two"),
    ],
)
def test_zero_divisor(body):
    assert found("KL776", body).only().severity == "info"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("s = tl.maximum(tl.max(tl.abs(v), axis=0), 1e-12)\ntl.store(o + c, v / s)", id="lower bound"),
        pytest.param("s = tl.max(tl.abs(v), axis=0) + 1e-12\ntl.store(o + c, v / s)", id="epsilon"),
        pytest.param("s = tl.max(tl.abs(v), axis=0) + eps\ntl.store(o + c, v / s)", id="epsilon argument"),
        pytest.param("s = tl.max(tl.abs(v))\ns = tl.where(s == 0, 1.0, s)\ntl.store(o + c, v / s)", id="where before"),
        pytest.param("s = tl.max(tl.abs(v))\nq = tl.where(s > 0, v / s, 0.0)\ntl.store(o + c, q)", id="where after"),
        pytest.param("s = tl.max(v, axis=0)\ntl.store(o + c, v / s)", id="no magnitude"),
        pytest.param("s = tl.max(tl.abs(v), axis=0)\ntl.store(o + c, v * s)", id="no division"),
        pytest.param("s = tl.exp(tl.max(tl.abs(v)))\ntl.store(o + c, v / s)", id="not zero"),
    ],
)
def test_divisor_above_zero(body):
    assert not found("KL776", body)


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param("tl.clamp(v / s, -448.0, 448.0)", id="clamp"),
        pytest.param("tl.minimum(v / s, 448.0)", id="minimum"),
        pytest.param("(v / s > 0.5).to(tl.float32)", id="comparison"),
        pytest.param("tl.where(v / s > 0.5, 1.0, 0.0)", id="condition"),
        pytest.param("(v / s).to(tl.int8).to(tl.float32)", id="integer"),
    ],
)
def test_zero_divisor_that_goes_no_further_is_a_remark(stored):
    body = f"s = tl.max(tl.abs(v)) / 448.0\ntl.store(o + c, {stored})"
    assert {finding.severity for finding in found("KL776", body).findings} <= {"info"}


@pytest.mark.parametrize(
    "stored", ["(v / s) * 2.0 + u", "(v / s).to(tl.float16)", "u - v * (1.0 / s)", "-(v / s) + 1.0"]
)
def test_zero_divisor_goes_through_arithmetic(stored):
    body = f"s = tl.max(tl.abs(v)) / 448.0\ntl.store(o + c, {stored})"
    assert found("KL776", body).only().severity == "info"


GUARDED = """m = tl.full((), float("-inf"), tl.float32)
total = 0.0
for s in range(0, n, B):
    q = tl.load(x + s + c)
    valid = (tl.load(w + s + c) > 0) & (c >= 0)
    if {guard}:
        q = tl.where(valid, q, float("-inf"))
        new = tl.maximum(m, tl.max(q, axis=0))
        total = total * tl.exp(m - new) + tl.sum(tl.exp(q - new), axis=0)
        m = new
tl.store(o, total)"""


@pytest.mark.parametrize(
    ("guard", "finds"),
    [
        ("tl.max(valid, axis=0) > 0", False),
        ("tl.max(valid, axis=0) == 1", False),
        ("tl.max(valid, axis=0) == 0", True),
        ("tl.sum(valid.to(tl.int32), axis=0) != 0", False),
        ("tl.sum(valid) >= 1", False),
        ("tl.max(valid, axis=0) >= 0", True),
        ("tl.max(tl.load(x + c) > 0, axis=0) > 0", True),
        ("row > 0", True),
    ],
)
def test_branch_that_makes_sure_of_a_valid_element(guard, finds):
    assert bool(found("KL774", GUARDED.format(guard=guard))) is finds


ACCUMULATE = "t = tl.zeros((B,), tl.float32)\nfor i in range(n):\n    {step}\ntl.store(o + c, t)"


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("t += tl.load(x + i + c) * tl.load(w + i + c)", id="loads"),
        pytest.param("a = tl.load(x + i + c)\n    b = tl.load(w + i + c)\n    t = t + b * a", id="names"),
        pytest.param("a = tl.load(x + i + c)\n    t += a * a", id="square"),
        pytest.param("t += (tl.load(x + i + c) * tl.load(w + i + c)).to(tl.float32)", id="widened after"),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounded_product(step, dtype):
    only = found("KL777", ACCUMULATE.format(step=step), dtype).only()
    assert only.severity == "info"
    assert f"rounded to {dtype} before" in only.message


@pytest.mark.parametrize(
    ("step", "dtype"),
    [
        pytest.param("t += tl.load(x + i + c) * tl.load(w + i + c)", "float32", id="float32"),
        pytest.param("t += tl.load(x + i + c).to(tl.float32) * tl.load(w + i + c)", "float16", id="one is cast"),
        pytest.param("t += tl.load(x + i + c)", "float16", id="no product"),
        pytest.param("t += tl.load(x + i + c) * 2.0", "float16", id="a power of two"),
        pytest.param(
            "t += (tl.load(x + i + c) * tl.load(w + i + c)).to(tl.bfloat16).to(tl.float32)", "bfloat16", id="on purpose"
        ),
    ],
)
def test_exact_product(step, dtype):
    assert not found("KL777", ACCUMULATE.format(step=step), dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("call", ["tl.sum(v, axis=0)", "tl.sum(v)", "v.sum(0)", "tl.cumsum(v, 0)", "tl.sum(v * u)"])
def test_low_precision_sum(call, dtype):
    assert found("KL778", f"o1 = {call}", dtype).only().severity == "warning"


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        pytest.param("tl.sum(v, axis=0)", "float32", id="float32"),
        pytest.param("tl.sum(v.to(tl.float32))", "bfloat16", id="cast"),
        pytest.param("tl.sum(v, axis=0, dtype=tl.float32)", "bfloat16", id="dtype"),
        pytest.param("tl.max(v, axis=0)", "bfloat16", id="maximum"),
        pytest.param("tl.sum(v - tl.max(v, axis=0))", "float16", id="less a maximum, which is float32"),
        pytest.param("tl.sum(v - tl.min(v, 0, keep_dims=True))", "bfloat16", id="less a minimum"),
        pytest.param("tl.sum(v * tl.sum(v, 0, dtype=tl.float32))", "bfloat16", id="times a sum in float32"),
        pytest.param("tl.sum(tl.cumsum(v, 0, dtype=tl.float32))", "bfloat16", id="of a scan in float32"),
        pytest.param("tl.sum(v, axis=0)", "int8", id="integers"),
        pytest.param("tl.sum(tl.zeros((B,), tl.float16))", "float16", id="no data"),
    ],
)
def test_sum_in_float32(call, dtype):
    assert not found("KL778", f"o1 = {call}", dtype)


def test_a_maximum_with_its_index_keeps_the_type():
    body = "m, i = tl.max(v, 0, return_indices=True)\no1 = tl.sum(v - m)"
    assert found("KL778", body, "float16").only().severity == "warning"


@pytest.mark.parametrize("value", ["v + 1e-8", "1e-8 + v", "tl.maximum(v, 1e-12)", "v - 1e9", "v * 70000.0"])
def test_lost_literal(value):
    assert found("KL780", f"o1 = {value}", "float16").only().severity == "warning"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        pytest.param("v + 1e-8", "float32", id="float32"),
        pytest.param("v + 1e-8", "bfloat16", id="bfloat16"),
        pytest.param("v.to(tl.float32) + 1e-8", "float16", id="cast"),
        pytest.param("v + 1e-5", "float16", id="large enough"),
        pytest.param("v + eps", "float16", id="argument"),
        pytest.param("v + 0.0", "float16", id="zero"),
        pytest.param('tl.maximum(v, float("-inf"))', "float16", id="infinity on purpose"),
    ],
)
def test_literal_that_fits(value, dtype):
    assert not found("KL780", f"o1 = {value}", dtype)


@pytest.mark.parametrize("draw", ["tl.rand(n, c)", "tl.randn(seed=n, offset=c)", "tl.randint(n, c + 7)"])
def test_shared_random_numbers(draw):
    assert found("KL781", f"r = {draw}\ntl.store(o + row * B + c, r)")


@pytest.mark.parametrize(
    "draw",
    ["tl.rand(n, row * B + c)", "tl.rand(n + row, c)", "tl.rand(tl.load(w + row), c)", "tl.rand(n, tl.load(w + c))"],
)
def test_random_numbers_of_its_own(draw):
    assert not found("KL781", f"r = {draw}\ntl.store(o + row * B + c, r)")


def test_seed_address():
    assert found("KL782", "r = tl.rand(w, row * B + c)").only().severity == "warning"
    assert not found("KL782", "r = tl.rand(tl.load(w), row * B + c)")


@pytest.mark.parametrize(
    ("seed", "count"),
    [("random.randrange(1 << 20)", 0), ("seeds", 0), ("torch.randint(0, 9, (1,), device=x.device)", 1)],
)
def test_seed_of_a_kernel_that_is_not_followed_to_its_end(seed, count):
    """What nothing shows to be a tensor may be a number, also where the uses that would tell are not followed."""
    source = """
    import random

    @triton.jit
    def drop(x, o, n, seed, **options):
        WIDTH = options["WIDTH"]
        i = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
        r = tl.rand(seed, i)
        tl.store(o + i, tl.where(r > 0.5, tl.load(x + i, mask=i < n), 0.0), mask=i < n)

    def launch(x, seed):
        o = torch.empty_like(x)
        drop[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), seed, WIDTH=1024)
        return o

    def run(x, seeds):
        return launch(x, SEED)
    """.replace("SEED", seed)
    findings = run_rule("KL782", dedent(source)).findings
    assert len(findings) == count


@pytest.mark.parametrize(
    ("claim", "severity"),
    [
        pytest.param("tl.multiple_of(row * stride, 16)", "warning", id="known"),
        pytest.param("tl.multiple_of(row * stride + c, [16])", "warning", id="tile"),
        pytest.param("tl.multiple_of(row * n, 16)", "info", id="open"),
        pytest.param("tl.multiple_of(row * stride, 8)", None, id="true"),
        pytest.param("tl.multiple_of(row * B + c, 16)", None, id="block"),
        pytest.param("tl.multiple_of(n * 16, 16)", None, id="product"),
        pytest.param("tl.multiple_of(tl.load(w), 16)", None, id="read"),
    ],
)
def test_false_multiple(claim, severity):
    assert [finding.severity for finding in found("KL783", f"s = {claim}", "int32").findings] == [severity] * bool(
        severity
    )


@pytest.mark.parametrize(
    ("condition", "false"),
    [
        ("row > 0", True), ("row >= 1", True), ("0 < row", True), ("row < 0", True),
        ("row >= 0", False), ("stride > 0", False), ("n > 0", False), ("row < 64", False), ("row != 0", False),
    ],
)  # fmt: skip
def test_false_assumption(condition, false):
    assert bool(found("KL784", f"tl.assume({condition})")) is false


@pytest.mark.parametrize("code", ["KL775", "KL776", "KL777", "KL778", "KL780"])
def test_without_a_launcher_what_rests_on_the_type_is_info(code):
    kernel = dedent(find_rule(code).bad).split("\ndef run")[0]
    severities = {finding.severity for finding in run_rule(code, kernel).findings}
    assert severities == ({"warning"} if code == "KL775" else {"info"})
