"""Calibration without a GPU: factors are found again from times that were made with them, and the file that comes of it is a device."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kernlint.calibrate.cases import Buffer, Case, cases
from kernlint.calibrate.factors import Row, fit, residuals, sigma
from kernlint.calibrate.run import CannotCalibrateError, fitted, launch_of, nearest, overrides_of, parameters
from kernlint.cli.calibrate_command import calibrate
from kernlint.cost.device import find_device
from kernlint.cost.dot_launch import kernel_time

H100 = find_device("h100-sxm")


def timed(factors: dict[str, float]) -> list[tuple[Case, float]]:
    """All cases with the times of an H100 whose terms take ``factors`` of what they do."""
    card = replace(H100, factors=factors)
    return [(case, kernel_time(launch_of(case), card).us) for case in cases()]


def test_factors_are_found_again() -> None:
    made = {"memory": 2.0, "floor": 1.5, "l2": 0.7, "dot_float16": 1.3}
    found = fitted(timed(made), H100, "Card", {})
    for name, factor in made.items():
        assert found.factors[name] == pytest.approx(factor, rel=0.08), name
    assert found.after["mean_abs_ln_error"] < 0.02 < 0.2 < found.before["mean_abs_ln_error"]


def test_the_file_is_a_device_that_predicts_what_was_timed(tmp_path: Path) -> None:
    times = timed({"memory": 2.0})
    path = tmp_path / "card.json"
    path.write_text(json.dumps(fitted(times, H100, "Card", {"l2_cache_mb": 50}).to_json()), encoding="utf-8")
    card = find_device(str(path))
    assert card.residuals["stream"] < 0.05
    largest = next(case for case, _ in times if case.kernel == "scale" and case.arguments[-1] == 1 << 26)
    slower = kernel_time(launch_of(largest), card).us / kernel_time(launch_of(largest), H100).us
    assert slower == pytest.approx(2.0, rel=0.1)


def test_a_term_that_no_row_tells_stays() -> None:
    rows = [Row({"memory": 10.0, "atomics": 0.01, "floor": 1.0}, 4.0, 21.0, "stream")] * 6
    found = fit(rows)
    assert found["memory"] == pytest.approx(2.0, rel=0.1) and found["atomics"] == pytest.approx(1.0, abs=0.02)


def test_residuals_are_those_of_classes_with_rows_enough() -> None:
    rows = [Row({"l2": 1.0}, 4.0, 2.0, "row")] * 6 + [Row({"l2": 1.0}, 4.0, 1.0, "scan")]
    found = residuals(rows, {})
    assert set(found) == {"all", "row"} and found["row"] == pytest.approx(0.69 / 1.28, abs=0.01)
    assert sigma([0.0]) > 0


def test_too_few_times_are_refused() -> None:
    with pytest.raises(CannotCalibrateError, match="only 3"):
        fitted(timed({})[:3], H100, "Card", {})


def test_every_case_names_a_kernel_and_its_parameters() -> None:
    for case in cases():
        given = len(case.arguments) + len(case.constants)
        assert given == len(parameters(case.kernel)), case.label
        assert all(isinstance(argument, (Buffer, int)) for argument in case.arguments)
    with pytest.raises(KeyError):
        parameters("no_such_kernel")


def test_the_card_says_what_its_data_sheet_does_not() -> None:
    card = SimpleNamespace(multi_processor_count=66, L2_cache_size=50 * 2**20, total_memory=80 * 2**30)
    found = overrides_of(card, H100)
    assert found["sm_count"] == 66 and "l2_cache_mb" not in found
    assert found["peak_fp32_vector_tflops"] == pytest.approx(H100.peak_fp32_vector_tflops / 2, rel=0.01)
    assert overrides_of(SimpleNamespace(), H100) == {}


def test_an_unknown_card_is_like_its_nearest() -> None:
    assert nearest("NVIDIA GeForce RTX 4070", (8, 9)).sm == (8, 9)
    assert nearest("NVIDIA H200", (9, 0)).id == "h200-sxm"


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    for arguments in ([str(tmp_path / "card.txt")], [str(tmp_path / "card.json")]):
        result = CliRunner().invoke(calibrate, ["-o", *arguments])
        assert result.exit_code != 0 and not list(tmp_path.iterdir())
