"""Inputs that people reported, with the right answer to each (``fixtures/reported``): false errors that are to stay away, and
faults that are to be found."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.lint.check_file import Job, check_file
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import all_rules

REPORTED = Path(__file__).parents[2] / "fixtures" / "reported"
DEFAULT = frozenset(rule.code for rule in all_rules() if rule.default)


def checked(name: str, reference: str | None = None, **settings: str) -> list[Finding]:
    path = REPORTED / name
    given = None if reference is None else (reference, (REPORTED / reference).read_bytes())
    job = Job(str(path), path.read_bytes(), FileSettings(DEFAULT, **settings), given, False)  # type: ignore[arg-type]
    return list(check_file(job).findings)


def levels(found: list[Finding]) -> dict[str, str]:
    return {finding.code: finding.severity for finding in found}


@pytest.mark.parametrize(
    ("name", "false"),
    [
        ("faults/p1_while_unknown.py", {"KL715", "KL751"}),
        ("faults/p2_zeros_autotuned_grid.py", {"KL302"}),
        ("faults/p3_gate_slots.py", {"KL759"}),
        ("faults/p4_pointers_walk_back.py", {"KL741"}),
        ("faults/p5_seed_int.py", {"KL782"}),
        ("faults/p7_while_loop_mlp.py", {"KL729", "KL793"}),
        ("cases/14-partial-block-absmax/bad.py", {"KL747"}),
        ("cases/14-partial-block-absmax/good.py", {"KL737", "KL747"}),
    ],
)
def test_what_is_no_fault(name: str, false: set[str]) -> None:
    assert not false & levels(checked(name)).keys()


def test_a_model_behind_a_loop_over_its_layers_depends_on_its_input() -> None:
    found = checked("faults/p7_while_loop_mlp.py", "faults/p7_while_loop_mlp_reference.py")
    assert "KL793" not in levels(found)


def test_tiles_loaded_under_a_run_time_condition_are_not_buffered() -> None:
    kernel, reference = "faults/p8_shared_memory_overestimated.py", "faults/p8_shared_memory_overestimated_reference.py"
    found = checked(kernel, reference, device="rtx-4090", target_triton="3.3")
    assert "KL207" not in levels(found)


def test_a_launch_that_is_tried_is_a_warning() -> None:
    assert levels(checked("faults/p6_launch_in_try.py"))["KL709"] == "warning"


@pytest.mark.parametrize(
    ("name", "code", "settings"),
    [
        ("faults/m1_dtype_call.py", "KL729", {}),
        ("faults/m2_multiple_of_rank.py", "KL708", {}),
        ("faults/m3_config_attribute.py", "KL795", {}),
        ("faults/m4_cache_modifier.py", "KL801", {"target_triton": "3.3"}),
        ("faults/m5_autotune_called_on_kernel.py", "KL795", {}),
        ("faults/m6_shared_memory_all_configs.py", "KL207", {"device": "rtx-4090"}),
        ("cases/16-group-scale-per-tile/bad.py", "KL797", {}),
        ("cases/18-conv-grad-lost-update/bad.py", "KL758", {}),
        ("cases/20-floor-grid-tail/bad.py", "KL747", {}),
        ("cases/24-branch-type/bad.py", "KL711", {}),
        ("cases/26-block-offset-missing/bad.py", "KL796", {}),
    ],
)
def test_what_is_an_error(name: str, code: str, settings: dict[str, str]) -> None:
    assert levels(checked(name, **settings)).get(code) == "error"


@pytest.mark.parametrize(
    ("name", "code"),
    [("cases/14-partial-block-absmax/bad.py", "KL737"), ("cases/22-pointer-overshoot/bad.py", "KL798")],
)
def test_what_may_go_wrong(name: str, code: str) -> None:
    assert levels(checked(name)).get(code) == "warning"


@pytest.mark.parametrize("name", sorted(path.parent.name for path in REPORTED.glob("cases/*/good.py")))
def test_the_mended_version_has_no_error(name: str) -> None:
    assert not [f for f in checked(f"cases/{name}/good.py") if f.severity == "error"]


def test_a_modifier_that_the_newest_release_takes() -> None:
    assert "KL801" not in levels(checked("faults/m4_cache_modifier.py"))


def test_a_list_nested_beyond_measure_ends() -> None:
    assert levels(checked("faults/t1_nested_list_repr.py")) == {}
