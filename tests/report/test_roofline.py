"""The roofline plot."""

import sys
from dataclasses import replace

import pytest
from support import budgets

from kernlint.errors import AnalysisError, UsageError
from kernlint.report.roofline import check_plot_path, write_roofline

drawing = pytest.mark.skipif("not __import__('importlib').util.find_spec('matplotlib')", reason="needs matplotlib")


@drawing
def test_an_svg_is_the_same_to_the_byte(tmp_path):
    for name in ("a.svg", "b.svg"):
        write_roofline(budgets.seed(), str(tmp_path / name))
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    text = first.decode()
    for word in ("memory 3.35 TB/s", "tensor cores, int8", "FMA, fp32", "int8_matmul_rowwise_dequant_kernel", "after"):
        assert word in text
    assert "without arithmetic: before contiguous" in text
    assert "<dc:date>" not in text


@drawing
def test_a_png(tmp_path):
    write_roofline(budgets.loop(), str(tmp_path / "a.PNG"))
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


@drawing
def test_names_with_dollars_are_no_formulas(tmp_path):
    budget = budgets.seed()
    steps = tuple(replace(step, name="a$\\frac{$") for step in budget.before.steps)
    write_roofline(replace(budget, before=replace(budget.before, steps=steps)), str(tmp_path / "a.svg"))


@drawing
def test_nothing_to_draw(tmp_path):
    with pytest.raises(AnalysisError, match="nothing to plot"):
        write_roofline(budgets.unknown(), str(tmp_path / "a.svg"))


def test_other_suffixes():
    with pytest.raises(UsageError, match=r"must end in \.svg or \.png"):
        check_plot_path("a.pdf")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'kernlint\[plot\]'"):
        check_plot_path("a.svg")
