"""Every fitting script runs from the committed facts: on a part of them here, and without writing what it finds."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.late import needs

from kernlint.cost.device import find_device
from kernlint.cost.dots import dot_time

pytestmark = needs("scipy")

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "kernlint" / "cost" / "data"
#: The scripts, each with every how many rows of a file it is given: as few as it takes.
SCRIPTS = {
    "fit_arithmetic": 4, "fit_cards": 12, "fit_convs": 6, "fit_dots": 60, "fit_gathers": 1, "fit_host": 1, "fit_memory": 80,
    "fit_torch_ops": 3,
}  # fmt: skip


def test_all_of_them_are_here() -> None:
    assert sorted(path.stem for path in (ROOT / "calibration").glob("fit_*.py")) == sorted(SCRIPTS)


#: Half a minute or more each.
SLOW = ("fit_arithmetic", "fit_dots", "fit_memory", "fit_torch_ops")


def test_products_are_fitted_by_the_formula_that_prices_them() -> None:
    from fit_dots import FACTS, Fit, read_rows

    rows = read_rows([FACTS / "h100-gemm-2.csv"])[::150]
    found = Fit(rows, find_device("h100-sxm"))
    predicted = found.predict(found.published())
    biases = json.loads((DATA / "h100-dots.json").read_text())["residuals"]["bias"]
    bias = [biases.get(key, 0.0) for key in found.keys]
    priced = [math.log(dot_time(row.loop, find_device("h100-sxm")).us) for row in rows]
    assert [one - b for one, b in zip(predicted, bias)] == pytest.approx(priced, abs=0.02)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in SCRIPTS]
)
def test_it_runs_and_writes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = csv.DictReader

    def thinned(*args: object, **kwargs: object) -> Iterator[dict[str, str]]:
        return (row for number, row in enumerate(whole(*args, **kwargs)) if number % SCRIPTS[name] == 0)  # type: ignore[arg-type]

    monkeypatch.setattr(csv, "DictReader", thinned)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--dry-run"])
    before = {path.name: hashlib.sha256(path.read_bytes()).digest() for path in DATA.iterdir() if path.is_file()}
    importlib.import_module(name).main()
    assert capsys.readouterr().out
    assert before == {
        path.name: hashlib.sha256(path.read_bytes()).digest() for path in DATA.iterdir() if path.is_file()
    }
