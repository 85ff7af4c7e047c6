"""The verdict on the seed, and how it follows physics when the question changes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from kernlint.analysis import analysis
from kernlint.request import Request
from kernlint.verdict.model import Verdict

SEED = Path(__file__).parents[2] / "fixtures" / "seed" / "task.md"
SOURCE = SEED.read_text()
KERNEL = SOURCE.split("# Current Triton Kernel\n```python\n")[1].split("```")[0]
REFERENCE = SOURCE.split("# PyTorch Reference\n```python\n")[1].split("```")[0]
IN_PLACE = ("b = weight_int8.t().contiguous()", "b = weight_int8.t()")

#: Measured on an H100 in CUDA graphs (calibration/facts/h100-seed.txt): M, N = K, the seed's wrapper, with the int8 dot
#: reading the weight in place, and that with the best tile; microseconds.
MEASURED = [
    (128, 2048, 63.58, 13.07, 5.19),
    (16, 2048, 61.38, 11.82, 3.93),
    (512, 2048, 74.21, 17.17, 7.77),
    (128, 8192, 609.54, 99.36, 34.59),
]


def ask(source: str = SOURCE, **options: object) -> Verdict:
    return analysis(Request(source, path="task.md", **options)).verdict  # type: ignore[arg-type]


@cache
def of_the_seed() -> Verdict:
    """What is said of the seed as it is."""
    return ask()


def test_the_whole_remedy_as_one_change() -> None:
    verdict = of_the_seed()
    assert verdict.worth_optimizing
    details = verdict.details
    assert details.category == "precision"
    assert details.rule is not None and details.rule.code == "KL101"
    assert details.kernel == "int8_matmul_rowwise_dequant_kernel"
    assert details.location is not None
    assert SOURCE.splitlines()[details.location.line - 1].strip() == "a_f32 = tl.cast(a, tl.float32)"
    text = " ".join((verdict.optimisation_method, verdict.modification_plan))
    assert "int32" in text and "`weight_int8` in place" in text and "K-contiguous" in text
    (finding,) = [f for f in details.findings if f.rule.code == "KL101"]
    proof = " ".join(finding.evidence)
    assert "int8 in memory" in proof and "cast to float32 at line 168" in proof and "per-call contiguous copy" in proof


@pytest.mark.parametrize(("m", "nk", "before", "after", "tiled"), MEASURED)
def test_intervals_contain_the_measurement(m: int, nk: int, before: float, after: float, tiled: float) -> None:
    verdict = ask(overrides={"M": m, "IN_FEATURES": nk, "OUT_FEATURES": nk})
    gpu = verdict.details.estimate.gpu
    assert gpu.low is not None and gpu.high is not None and gpu.before_us is not None
    assert gpu.low <= before / after <= gpu.high
    assert before / 1.5 <= gpu.before_us <= before * 1.5
    (tile,) = [f for f in verdict.details.follow_ups if f.rule.code == "KL201"]
    assert tile.estimate.gpu.low is not None and tile.estimate.gpu.high is not None
    assert tile.estimate.gpu.low <= after / tiled <= tile.estimate.gpu.high


def test_plain_python_files_give_the_same_answer() -> None:
    markdown = of_the_seed().to_json(details=False)
    plain = analysis(Request(KERNEL, path="kernel.py", reference=REFERENCE)).verdict.to_json(details=False)
    assert plain["worth_optimizing"] == markdown["worth_optimizing"]
    assert plain["expected_speedup"] == markdown["expected_speedup"]
    assert plain["optimisation method"] == markdown["optimisation method"]


def test_output_is_deterministic_and_valid() -> None:
    from kernlint.schema import load

    first, second = json.dumps(of_the_seed().to_json()), json.dumps(ask().to_json())
    assert first == second
    jsonschema.Draft202012Validator(load("verdict")).validate(json.loads(first))


def codes(verdict: Verdict) -> set[str]:
    return {f.rule.code for f in verdict.details.findings}


def test_layout_is_a_matter_of_hopper() -> None:
    """sm_80 and sm_89 read int8 operands in either order: the copy and the cast are separate changes there."""
    for device in ("a100-80gb-sxm", "l40s", "rtx-4090"):
        verdict = ask(device=device)
        assert {"KL101", "KL301"} <= codes(verdict)
        assert "KL305" not in codes(verdict)
        (cast,) = [f for f in verdict.details.findings if f.rule.code == "KL101"]
        assert "K-contiguous dot" not in " ".join(cast.evidence)
        assert not any("per-call" in e for e in cast.evidence)


def test_weight_already_k_major() -> None:
    verdict = ask(SOURCE.replace(*IN_PLACE))
    assert verdict.details.rule is not None and verdict.details.rule.code == "KL101"
    assert not {"KL301", "KL305"} & codes(verdict)
    assert "in place" not in verdict.optimisation_method
    copied, in_place = of_the_seed().details.estimate.gpu.speedup, verdict.details.estimate.gpu.speedup
    assert copied is not None and in_place is not None and in_place < copied


def test_one_int8_operand_has_no_int8_dot() -> None:
    half = "x_int8 = torch.randn(M, IN_FEATURES, dtype=torch.float16)"
    source = SOURCE.replace("x_int8 = torch.randint(-128, 127, (M, IN_FEATURES), dtype=torch.int8)", half)
    assert source != SOURCE
    assert "KL101" not in codes(ask(source))


def test_mended_kernel_keeps_only_its_tile() -> None:
    source = SOURCE
    for old, new in (
        IN_PLACE,
        ("a_f32 = tl.cast(a, tl.float32)", ""),
        ("b_f32 = tl.cast(b, tl.float32)", ""),
        ("tl.dot(a_f32, b_f32, allow_tf32=True)", "tl.dot(a, b)"),
        ("(BLOCK_M, BLOCK_N), dtype=tl.float32", "(BLOCK_M, BLOCK_N), dtype=tl.int32"),
    ):
        assert old in source
        source = source.replace(old, new)
    assert codes(ask(source)) <= {"KL201", "KL203"}


def test_names_and_comments_do_not_matter() -> None:
    source = SOURCE
    for old, new in (("a_f32", "left"), ("b_f32", "right"), ("weight_int8", "w"), ("# int8  [M, K]", "# float [N]")):
        source = source.replace(old, new)
    renamed, original = ask(source).to_json(), of_the_seed().to_json()
    assert renamed["expected_speedup"] == original["expected_speedup"]
    assert renamed["details"]["rule"] == original["details"]["rule"]


def test_host_bound_calls_gain_less() -> None:
    gpu, call = of_the_seed().details.estimate.gpu, ask(scope="call").details.estimate.call
    assert call.speedup is not None and gpu.speedup is not None and call.speedup < gpu.speedup


def test_without_reference_sizes_are_asked_for() -> None:
    verdict = analysis(Request(KERNEL, path="kernel.py", entry="fused_int8_rowwise_dequant_matmul")).verdict
    assert verdict.worth_optimizing and verdict.details.rule is not None and verdict.details.rule.code == "KL101"
    assert verdict.expected_speedup and "--assume" in verdict.reason
    assert verdict.details.certainty == "assumed"  # the sizes; the types are asserted
    assert not {"x", "weight_int8"} & {fact.name for fact in verdict.details.scenarios[0].facts}
    facts = ["x:int8[128,2048]", "weight_int8:int8[2048,2048]", "scale_x:float32[128]", "scale_w:float32[2048]"]
    answered = analysis(
        Request(
            KERNEL,
            path="kernel.py",
            entry="fused_int8_rowwise_dequant_matmul",
            assumptions=(
                *facts,
                "bias:float16[2048]",
            ),
        )
    ).verdict
    # A good version is known of a reference alone, and widens the promise.
    given, asked = answered.details.estimate.gpu, of_the_seed().details.estimate.gpu
    assert (given.before_us, given.after_us) == (asked.before_us, asked.after_us)
