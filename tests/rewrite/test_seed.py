"""The fix of the seed task: the kernel that comes out, whole."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from support.rewriting import needs_interpreter

from kernlint.analysis import analysis
from kernlint.fix import Fixed, fix_source
from kernlint.request import Request
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import Task, read_task

SEED = Path(__file__).parents[2] / "fixtures/seed/task.md"


@lru_cache(maxsize=1)
def seed() -> tuple[Task, Fixed]:
    text = SEED.read_text()
    return read_task(SourceText(text, "task.md")), fix_source(
        Request(text, path="task.md", device="h100"), follow_ups=True
    )


def test_the_changed_lines() -> None:
    task, result = seed()
    before, after = task.kernel.text.splitlines(), result.after.splitlines()
    assert [line.strip() for line in after if line not in before] == [
        "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)",
        "acc += tl.dot(a, b)",
        "acc = acc.to(tl.float32) * divfactor",
        "weight_int8: int8  [N, K]",
        'assert K < 131_072, "an int32 sum of int8 products may overflow"',
        "# Prepare B = weight_int8.T [K, N]: a view of weight_int8, read through its strides",
        "b = weight_int8.t()",
        "BLOCK_N=32,",
        "BLOCK_K=128,",
        "num_stages=4,",
    ]


def test_what_is_said_of_it() -> None:
    _, result = seed()
    assert [applied.code for applied in result.applied] == ["KL101", "KL201"]
    assert {applied.effects.applicability for applied in result.applied} == {"safe"}
    assert {applied.effects.numerics for applied in result.applied} == {"exact"}
    assert result.applied[0].effects.memory == "less"
    first, second = (applied.gain for applied in result.applied)
    assert first is not None and second is not None
    # Each fix starts where the one before has led to.
    assert second.before_us == pytest.approx(first.after_us)
    assert first.before_us / second.after_us > 8


def test_it_is_what_the_verdict_promises() -> None:
    task, result = seed()
    assert task.reference is not None
    verdict = analysis(Request(SEED.read_text(), path="task.md")).verdict
    assert verdict.details.fix is not None and verdict.details.fix.automatic
    promised = verdict.details.follow_ups[-1].estimate.gpu.after_us
    after = analysis(Request(result.after, path="task.py", reference=task.reference.text))
    assert after.judgement.before.gpu_us == pytest.approx(promised, rel=0.01)
    assert not after.verdict.worth_optimizing


def test_fixing_again_changes_nothing() -> None:
    task, result = seed()
    assert task.reference is not None
    again = fix_source(
        Request(result.after, path="task.py", reference=task.reference.text, device="h100"), follow_ups=True
    )
    assert again.after == result.after and not again.applied


@needs_interpreter
@pytest.mark.slow
def test_the_results_are_exact(tmp_path: Path) -> None:
    from support.rewriting import assert_same_results

    task, result = seed()
    assert task.reference is not None
    sizes = task.reference.text.replace("M = 128", "M = 40").replace("= 2048\n", "= 160\n")
    head = sizes[sizes.index("# Default configuration") :]
    assert_same_results(tmp_path, task.kernel.text + head, result.after + head, 0.0)
