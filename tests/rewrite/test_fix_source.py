"""``fix_source``: what is chosen, what is refused, and what never happens."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.fixes import LOADS, gemm

from kernlint.analysis import analysis
from kernlint.errors import AnalysisError, SourceError, UsageError
from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.registry import find_rule

PAIRS = Path(__file__).parents[2] / "fixtures/pairs"

#: Pairs that text edits alone mend, with the rule whose fix it is.
MENDED = {
    "gemm-fp16-upcast-fp32": "KL103",
    "gemm-fp32-ieee-tf32": "KL104",
    "gemm-int8-upcast-copy": "KL101",
    "gemm-small-tile": "KL201",
    "gemm-no-stages": "KL204",
    "elementwise-tiny-block": "KL202",
    "contiguous-copies": "KL301",
    "inplace-buffer": "KL303",
}


@pytest.mark.parametrize("pair", MENDED)
def test_a_pair_is_mended_as_predicted(pair: str) -> None:
    before, reference = (PAIRS / pair / "before.py").read_text(), (PAIRS / pair / "reference.py").read_text()
    chosen = analysis(Request(before, path="before.py", reference=reference)).judgement.chosen
    result = fix_source(Request(before, path="before.py", reference=reference), unsafe=True)
    (applied,) = result.applied
    assert applied.code == MENDED[pair]
    after = analysis(Request(result.after, path="before.py", reference=reference)).judgement.before.gpu_us
    assert chosen is not None and after == pytest.approx(chosen.gains["gpu"].after_us, rel=0.01)


def test_nothing_worth_it_is_left_alone() -> None:
    pair = PAIRS / "gemm-autotune-ok"
    text = (pair / "before.py").read_text()
    result = fix_source(Request(text, path="before.py", reference=(pair / "reference.py").read_text()), follow_ups=True)
    assert result.after == text and result.diff == "" and not result.applied


def test_an_unsafe_fix_needs_consent() -> None:
    source = textwrap.dedent(find_rule("KL104").bad)
    (refused,) = fix_source(Request(source, path="k.py"), rules=["KL104"]).refused
    assert refused.unsafe and "tf32" in refused.reason
    assert fix_source(Request(source, path="k.py"), unsafe=True).applied


def test_what_cannot_be_done_comes_with_its_plan() -> None:
    rule = find_rule("KL507")
    (refused,) = fix_source(Request(textwrap.dedent(rule.bad), path="k.py")).refused
    assert refused.code == "KL507" and refused.reason and refused.plan


def test_a_file_of_another_module_is_not_touched(tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef wide(p):\n    return tl.load(p).to(tl.float32)\n"
    )
    loop = """
    x = wide(a + m[:, None] * K + (start + k)[None, :])
    y = wide(b + (start + k)[:, None] + n[None, :] * K)
    acc += tl.dot(x, y)
    """
    source = gemm(loop, dtype="float16").replace("import triton\n", "import triton\nfrom .helper import wide\n", 1)
    path = tmp_path / "kernel.py"
    path.write_text(source)
    result = fix_source(Request(source, path=str(path)), rules=["KL103"])
    (refused,) = result.refused
    assert "helper.py:6" in refused.reason and result.after == source


@pytest.mark.parametrize("newline", ["\r\n", "\r"], ids=["crlf", "cr"])
def test_line_ends(newline: str) -> None:
    source = gemm(LOADS + "xf = x.to(tl.float32)\nacc += tl.dot(xf, y.to(tl.float32))")
    plain = fix_source(Request(source, path="k.py"), rules=["KL101"]).after
    assert fix_source(Request(source.replace("\n", newline), path="k.py"), rules=["KL101"]).after == plain.replace(
        "\n", newline
    )


def test_text_beyond_ascii_and_tabs() -> None:
    source = gemm(LOADS + "é = x.to(tl.float32)  # größer\nacc += tl.dot(é, y.to(tl.float32))").replace("    ", "\t")
    after = fix_source(Request(source, path="k.py"), rules=["KL101"]).after
    assert "\t\tacc += tl.dot(x, y)\n" in after and "é" not in after


def test_suppression_comments_and_decorators_stay() -> None:
    source = gemm(LOADS + "# kernlint: ignore[KL201] small\nacc += tl.dot(x.to(tl.float32), y.to(tl.float32))")
    assert "# kernlint: ignore[KL201] small" in fix_source(Request(source, path="k.py"), rules=["KL101"]).after


def test_the_diff_applies() -> None:
    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))").rstrip("\n")
    diff = fix_source(Request(source, path="k.py"), rules=["KL101"]).diff
    assert diff.startswith("--- k.py\n+++ k.py\n@@") and "\\ No newline" not in diff.split("@@")[2][:40]


def test_bad_questions() -> None:
    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))")
    with pytest.raises(UsageError, match="no rule"):
        fix_source(Request(source), rules=["KL999"])
    with pytest.raises(SourceError):
        fix_source(Request("def f(:\n"))
    with pytest.raises(AnalysisError):
        fix_source(Request("x = 1\n"))


def test_sizes_that_are_open() -> None:
    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))").replace(
        "s, 4096, BM", "s, a.shape[1], BM"
    )
    result = fix_source(Request(source, path="k.py"), unsafe=True)
    (applied,) = result.applied
    assert applied.code == "KL101" and applied.gain is None
