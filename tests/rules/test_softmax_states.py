"""KL216 on loops that carry an online softmax: parts of them can run elsewhere, if nothing else is carried."""

import re

import pytest
from support.findings import run_rule

UPDATE = """
        m_new = tl.maximum(m_i, tl.max(s, axis=0))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new)
        acc = acc * alpha + tl.sum(p[:, None] * v, axis=0)
        l_i = l_i * alpha + tl.sum(p, axis=0)
        m_i = m_new
"""

SOURCE = """
from triton.language import math as fast

H, T, D = 8, 16384, 128

@triton.jit
def half(x):
    return x * 0.5

@triton.jit
def decode(Q, K, V, Out, context, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    head, d, t = tl.program_id(0), tl.arange(0, D), tl.arange(0, BLOCK)
    q = tl.load(Q + head * D + d).to(tl.float32) * scale
    m_i = -float("inf")
    l_i = 0.0
    acc = tl.zeros([D], dtype=tl.float32)
    keys = K + head * context * D + t[:, None] * D + d[None, :]
    values = V + head * context * D + t[:, None] * D + d[None, :]
    for start in range(0, context, BLOCK):
        live = start + t < context
        k = tl.load(keys + start * D, mask=live[:, None], other=0.0).to(tl.float32)
        s = tl.where(live, tl.sum(q[None, :] * k, axis=1), -float("inf"))
        v = tl.load(values + start * D, mask=live[:, None], other=0.0).to(tl.float32)
{update}
    tl.store(Out + head * D + d, acc / l_i)

class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        out = torch.empty_like(q)
        decode[(H,)](q, k, v, out, T, 0.1, D=D, BLOCK=64)
        return out

def get_inputs():
    return [torch.randn(H, D), torch.randn(H, T, D), torch.randn(H, T, D)]
"""


def source(update: str = UPDATE) -> str:
    return SOURCE.replace("{update}", update.strip("\n"))


def update(*changes: tuple[str, str]) -> str:
    text = UPDATE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return source(text)


def line(text: str) -> str:
    return f"        {text}\n"


EXP2 = source(UPDATE.replace("tl.exp(", "tl.exp2("))
IN_PLACE = source(
    line("m_new = tl.maximum(tl.max(s, 0), m_i)")
    + line("alpha = fast.exp2(m_i - m_new)")
    + line("p = fast.exp2(s - m_new)")
    + line("l_i *= alpha")
    + line("l_i += tl.sum(p, 0)")
    + line("acc *= alpha")
    + line("acc += tl.sum(v * p[:, None], axis=0)")
    + line("m_i = m_new")
)
WITHOUT_NAMES = source(
    line("m_new = tl.maximum(m_i, tl.max(s, axis=0))")
    + line("acc = tl.sum((tl.exp(s - m_new))[:, None] * v, axis=0) + acc * tl.exp(m_i - m_new)")
    + line("l_i = tl.exp(m_i - m_new) * l_i + tl.sum(tl.exp(s - m_new), axis=0)")
    + line("m_i = m_new")
)
POINTERS = (
    source(UPDATE + line("keys += BLOCK * D") + line("values += BLOCK * D"))
    .replace("keys + start * D", "keys")
    .replace("values + start * D", "values")
)
BESIDE = (
    source(UPDATE + line("count = count * 2 + 1"))
    .replace("l_i = 0.0", "l_i = 0.0\n    count = 0")
    .replace("acc / l_i", "acc / l_i + count")
)
FED_BACK = source(UPDATE.replace("        p = tl.exp(s", "        s = s + tl.sum(acc)\n        p = tl.exp(s"))
OTHER_NAMES = re.sub(r"\b(m_i|l_i|acc|alpha|p)\b", r"other_\1", source())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(source(), id="decode"),
        pytest.param(EXP2, id="exp2"),
        pytest.param(IN_PLACE, id="in place, imported math"),
        pytest.param(WITHOUT_NAMES, id="written out"),
        pytest.param(POINTERS, id="pointers that move evenly"),
        pytest.param(OTHER_NAMES, id="other names"),
        pytest.param(update(("p[:, None] * v", "p.to(tl.float32)[:, None] * half(v)")), id="converted, helper of the values"),
        pytest.param(update(("tl.sum(p, axis=0)", "half(tl.sum(p, axis=0))")), id="helper of the weights"),
        pytest.param(update(("tl.exp(s - m_new)", "tl.where(live, tl.exp(s - m_new), 0.0)")), id="masked weights"),
        pytest.param(update(("        l_i = l_i * alpha + tl.sum(p, axis=0)\n", "")).replace("acc / l_i", "acc"), id="one sum"),
    ],
)  # fmt: skip
def test_a_softmax_that_few_programs_walk(text: str) -> None:
    found = run_rule("KL216", text)
    finding = found.only()
    assert finding.symbol == "decode" and "online softmax" in finding.message
    context = found.contexts[0]
    assert context.gpu_us(finding.change.variant) < 0.5 * context.gpu_us(context.variant)


def test_the_plan_names_the_state() -> None:
    plan = run_rule("KL216", EXP2).only().change.plan
    assert "`m_i`, `acc`, `l_i`" in plan and "exp2(part's `m_i` - m)" in plan


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(update(("acc * alpha", "acc")), id="a sum that is not rescaled"),
        pytest.param(update(("l_i * alpha", "l_i * 0.9")), id="decays by a constant"),
        pytest.param(update(("alpha = tl.exp(", "alpha = tl.exp2(")), id="two bases"),
        pytest.param(update(("tl.exp(s - m_new)", "tl.exp(s - m_i)")), id="relative to the old maximum"),
        pytest.param(update(("tl.exp(m_i - m_new)", "tl.exp(m_new - m_i)")), id="scaled the wrong way"),
        pytest.param(update(("p = tl.exp(s - m_new)", "p = tl.exp(s)")), id="weights without the maximum"),
        pytest.param(update(("p = tl.exp(s - m_new)", "p = tl.exp(s - m_new)\n        p = p * p")), id="weights squared"),
        pytest.param(update(("tl.sum(p, axis=0)", "tl.sum(p + 1.0, axis=0)")), id="weights and a constant"),
        pytest.param(update(("tl.sum(p, axis=0)", "tl.max(p, axis=0)")), id="largest weight"),
        pytest.param(
            update(("tl.sum(p, axis=0)", "half(tl.sum(p, axis=0))")).replace("return x * 0.5", "return x * x"),
            id="helper that squares the weights",
        ),
        pytest.param(update(("tl.sum(p, axis=0)", "tl.sum(p / l_i, axis=0)")), id="weights over the sum so far"),
        pytest.param(update(("p[:, None] * v", "p[:, None] * v * tl.sum(acc)")), id="depends on the state"),
        pytest.param(update(("tl.max(s, axis=0))", "tl.sum(acc))")), id="maximum of the state"),
        pytest.param(update(("m_i = m_new", "m_i = m_new + 1.0")), id="another maximum is carried"),
        pytest.param(update(("m_i = m_new", "if start > 0:\n            m_i = m_new")), id="carried under a condition"),
        pytest.param(FED_BACK, id="scores from the state"),
        pytest.param(update(("m_i = m_new", "m_i = m_new\n        tl.store(Out + head * D + d, acc)")), id="stored each time"),
        pytest.param(BESIDE, id="another recurrence beside it"),
        pytest.param(source().replace("H, T, D = 8, 16384", "H, T, D = 256, 16384"), id="programs that fill the card"),
        pytest.param(source().replace("H, T, D = 8, 16384", "H, T, D = 8, 256"), id="a short context"),
    ],
)  # fmt: skip
def test_a_loop_that_stays_whole(text: str) -> None:
    assert not run_rule("KL216", text)
