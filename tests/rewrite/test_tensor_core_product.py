"""KL502 as a rewrite: a broadcast product and its sum become tl.dot."""

from pathlib import Path

import pytest
from support.codemods import relative_error, rewritten

from kernlint.rewrite.text import CannotRewrite

SOURCE = """
M, N, D = 1024, 1024, 512

@triton.jit
def scores(q, k, s, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, D, BD):
        d = start + tl.arange(0, BD)
        a = tl.load(q + m[:, None] * D + d[None, :], mask=(m[:, None] < M) & (d[None, :] < D), other=0.0)
        {b}
        {update}
    tl.store(s + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))

class ModelNew(torch.nn.Module):
    def forward(self, q, k):
        s = torch.empty(M, N, device=q.device, dtype=torch.float32)
        scores[(triton.cdiv(M, 32), triton.cdiv(N, 32))](q, k, s, M, N, D, BM=32, BN=32, BD=32)
        return s

def get_inputs():
    return [torch.randn(M, D, dtype=torch.{dtype}), torch.randn(N, D, dtype=torch.{dtype})]
"""
K_LAST = "b = tl.load(k + n[:, None] * D + d[None, :], mask=(n[:, None] < N) & (d[None, :] < D), other=0.0)"
K_FIRST = "b = tl.load(k + n[None, :] * D + d[:, None], mask=(n[None, :] < N) & (d[:, None] < D), other=0.0)"
CAST = ".to(tl.float32)"
IN_PLACE = f"acc += tl.sum(a[:, None, :]{CAST} * b[None, :, :]{CAST}, axis=2)"


def source(update: str = IN_PLACE, b: str = K_LAST, dtype: str = "float16") -> str:
    return SOURCE.format(update=update, b=b, dtype=dtype)


PRODUCT = f"a[:, None, :]{CAST} * b[None, :, :]{CAST}"
DOT, DOT_TRANS = "acc = tl.dot(a, b, acc)", "acc = tl.dot(a, tl.trans(b), acc)"

CASES = {
    "k last": (source(), DOT_TRANS),
    "k first": (source(f"acc += tl.sum(a[:, :, None]{CAST} * b[None, :, :]{CAST}, axis=1)", K_FIRST), DOT),
    "product with a name": (
        source(f"p = a[:, :, None]{CAST} * b[None, :, :]{CAST}\n        acc += tl.sum(p, axis=1)", K_FIRST),
        DOT,
    ),
    "second factor first": (
        source(f"acc += tl.sum(b[None, :, :]{CAST} * a[:, None, :]{CAST}, axis=2)"),
        DOT_TRANS,
    ),
    "factors with names": (
        source(
            f"left = a[:, None, :]{CAST}\n        right = b[None, :, :]{CAST}\n"
            "        acc += tl.sum(left * right, axis=2)"
        ),
        DOT_TRANS,
    ),
    "cast with the load": (
        source("acc += tl.sum(a[:, None, :] * b[None, :, :], axis=2)").replace("other=0.0)", f"other=0.0){CAST}"),
        DOT_TRANS,
    ),
    "plain sum": (source(f"acc = acc + tl.sum({PRODUCT}, axis=2)"), DOT_TRANS),
    "added to more": (
        source(f"acc = acc + 2.0 * tl.sum({PRODUCT}, axis=2)"),
        "acc = acc + 2.0 * tl.dot(a, tl.trans(b))",
    ),
    "method": (source(f"acc += ({PRODUCT}).sum(axis=2)"), DOT_TRANS),
    "fp32 operands": (source("acc += tl.sum(a[:, None, :] * b[None, :, :], axis=2)", dtype="float32"), DOT_TRANS),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sum_becomes_a_dot(case: str) -> None:
    text, line = CASES[case]
    change = rewritten("KL502", text)
    change.check()
    assert line in change.lines
    assert "tl.sum" not in change.after
    assert ".sum(" not in change.after


def test_casts_that_only_the_product_needed_go() -> None:
    change = rewritten("KL502", CASES["factors with names"][0])
    assert "left" not in change.after
    assert "right" not in change.after


def test_comments_about_the_product_go_with_it() -> None:
    change = rewritten("KL502", source(f"# every row with every column\n        {IN_PLACE}"))
    assert "every row" not in change.after
    assert "# tile product on tensor cores, accumulated in float32" in change.lines


def test_half_operands_lose_nothing_and_fp32_ones_go_through_tf32() -> None:
    assert rewritten("KL502", source()).effects.applicability == "safe"
    fp32 = rewritten("KL502", CASES["fp32 operands"][0]).effects
    assert (fp32.applicability, fp32.numerics) == ("unsafe", "changed")


def test_a_product_that_is_used_twice_stays() -> None:
    text = source(
        f"p = a[:, None, :]{CAST} * b[None, :, :]{CAST}\n        acc += tl.sum(p, axis=2) + tl.max(p, axis=2)"
    )
    with pytest.raises(CannotRewrite, match="used elsewhere"):
        rewritten("KL502", text)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_dot_computes_the_sum(case: str, tmp_path: Path) -> None:
    sizes = [{"M": m, "N": n, "D": d} for m, n, d in ((40, 72, 48), (1, 33, 7), (65, 1, 1))]
    assert relative_error(rewritten("KL502", CASES[case][0]), tmp_path, *sizes) <= 1e-3
