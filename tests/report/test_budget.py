"""The time budget as data and as text."""

import json
from dataclasses import replace

import jsonschema
import pytest
from support import budgets

from kernlint.report.budget import Budget
from kernlint.report.budget_text import render
from kernlint.report.grid import Bar
from kernlint.report.look import Look
from kernlint.schema import load

KERNEL = "int8_matmul_rowwise_dequant_kernel"
ALL = [
    pytest.param(lambda: budgets.seed(), id="seed"),
    pytest.param(lambda: budgets.seed("call"), id="seed, scope call"),
    pytest.param(lambda: budgets.seed("gpu", "a100-80gb-sxm"), id="seed, A100"),
    pytest.param(lambda: budgets.loop(), id="loop"),
    pytest.param(lambda: budgets.loop("call"), id="loop, scope call"),
    pytest.param(lambda: budgets.assumed(), id="assumed sizes"),
    pytest.param(lambda: budgets.unknown(), id="open sizes"),
]


def step(budget: Budget, name: str, call: str = "before"):
    return next(s for s in getattr(budget, call).steps if s.name == name)


@pytest.mark.parametrize("made", ALL)
def test_json_fits_the_schema(made):
    data = json.loads(json.dumps(made().to_json(), allow_nan=False))
    jsonschema.Draft202012Validator(load("explain")).validate(data)


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(load("explain"))


@pytest.mark.parametrize("made", ALL)
def test_steps_add_up(made):
    budget = made()
    for call in (budget.before, budget.after, budget.reference):
        if call is not None and not call.missing:
            assert sum(s.gpu_us for s in call.steps) == pytest.approx(call.gpu_us)
            assert sum(s.share for s in call.steps) == pytest.approx(1.0)


def test_bytes_and_operations_of_the_seed():
    budget = budgets.seed()
    m, n, k = 128, 2048, 2048
    copy, kernel = step(budget, "contiguous (transposing copy)"), step(budget, KERNEL)
    assert (copy.touched_bytes, copy.flops, copy.kind) == (2 * n * k, 0, "torch")
    # x, weight, both scales, bias, output.
    assert kernel.touched_bytes == m * k + n * k + 4 * m + 4 * n + 2 * n + 2 * m * n
    # Every program reads its strips again: 2 x 32 tiles would read x 32 times.
    assert kernel.moved_bytes > 2 * kernel.touched_bytes
    products = 2 * m * n * k
    assert products <= kernel.flops < 1.05 * products
    assert kernel.intensity == pytest.approx(kernel.flops / kernel.touched_bytes)
    assert kernel.achieved == pytest.approx(kernel.flops / kernel.gpu_us * 1e6)
    assert (kernel.unit, step(budget, KERNEL, "after").unit) == ("tf32", "int8")
    assert step(budget, "matmul", "reference").unit == "fma"  # torch multiplies fp32 without TF32
    assert copy.intensity is None and copy.achieved is None


def test_the_change_drops_the_copy():
    budget = budgets.seed()
    assert "contiguous (transposing copy)" not in [s.name for s in budget.after.steps]
    assert budget.gains["gpu"].speedup == pytest.approx(budget.before.gpu_us / budget.after.gpu_us)


def test_python_loops():
    steps = budgets.loop().before.steps
    assert [(s.name, s.kind, s.depth, s.count) for s in steps if s.kind in ("loop", "launch", "sync")][:2] == [
        ("loop of 8", "loop", 0, 8.0),
        ("axpy_kernel", "launch", 1, 8.0),
    ]
    kernel = step(budgets.loop(), "axpy_kernel")
    assert kernel.flops == 8 * 2 * 4096
    assert kernel.moved_bytes == 8 * 3 * 4 * 4096
    behind = steps[[s.name for s in steps].index("axpy_kernel") + 1 :]
    assert behind and all(s.depth == 0 for s in behind)
    assert any(s.kind == "sync" for s in behind)


def test_roofs():
    roofs = {roof.name: roof.value for roof in budgets.seed().roofs}
    assert roofs["memory"] == pytest.approx(3.35e12, rel=0.01)
    assert "L2" in roofs
    assert roofs["tensor cores, int8"] == pytest.approx(2 * 2 * roofs["tensor cores, tf32"], rel=0.01)
    assert roofs["FMA, fp32"] == pytest.approx(67e12, rel=0.01)
    assert "L2" not in [roof.name for roof in budgets.seed("gpu", "a100-80gb-sxm").roofs]  # not measured there


# -- text -------------------------------------------------------------------------------------------------------------


def test_text_of_the_seed():
    text = render(budgets.seed())
    assert text == render(budgets.seed())
    lines = text.splitlines()
    assert "task.md: ModelNew.forward on h100-sxm, times of scope gpu" in lines[0]
    row = next(line for line in lines if line.startswith(KERNEL))
    assert row.count("latency") == 2 and "#####" in row
    assert "gone" in next(line for line in lines if line.startswith("contiguous (transposing copy)"))
    assert any(line.startswith("total, scope call") for line in lines)
    assert any(line.startswith("PyTorch's own steps") for line in lines)
    assert any(line.startswith(f"terms of {KERNEL}, before") and "latency" in line for line in lines)
    assert text.isascii()


def test_shares_in_scope_call_are_the_hosts_where_it_decides():
    budget = budgets.loop("call")
    assert budget.before.clock == "host"
    assert "host us" in render(budget)
    assert budgets.loop().before.clock == "device"


def test_open_sizes_are_asked_for():
    budget = budgets.unknown()
    assert budget.before.missing and budget.before.gpu_us is None
    text = render(budget)
    assert "No times while sizes are open" in text and "--set" in text and "--assume" in text
    assert all(name in text for name in budget.before.missing)


def test_assumed_calls_stand_beside_one_another():
    budget = budgets.assumed()
    text = render(budget)
    assert budget.certainty == "assumed" and budget.before.gpu_us is not None
    assert all(any(line.startswith(name) for line in text.splitlines()) for name in ("medium", "decode", "large"))
    assert "- x float32: nothing in view tells it (usual)" in text


def test_many_steps_are_summed_up():
    budget = budgets.seed()
    kernel = step(budget, KERNEL)
    many = replace(budget.before, steps=(*budget.before.steps, *[replace(kernel, name="k", gpu_us=0.01)] * 100))
    text = render(replace(budget, before=many, after=None, change=None))
    assert text.count("\nk ") < 40
    assert "(64 shorter steps)" in text
    assert KERNEL in text


def test_hostile_names_cannot_drive_a_terminal():
    budget = budgets.seed()
    bad = replace(step(budget, KERNEL), name="k\x1b[31m\n" + "x" * 500)
    text = render(replace(budget, before=replace(budget.before, steps=(bad,)), file="a\x1b[0m"))
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines() if "###" in line) < 200


@pytest.mark.parametrize("width", [60, 70, 80, 100, 200])
def test_terminals(width):
    text = render(budgets.seed(), Look(blocks=True, width=width))
    assert ("before:" in text) == (width < 110)  # side by side where there is room
    assert ("\u2588" in text) == (width >= 70)
    assert "PyTorch us" in text
    for digits in ("17.3 MB", "1.09 G", "67.1", "4.6-15x", "54.8", "100 %"):
        assert digits in text  # numbers are never cut
    assert max(map(len, text.splitlines())) <= width


def test_bars():
    assert [Bar(f).drawn() for f in (0, 0.01, 0.5, 1)] == ["", "#", "#####", "##########"]
    assert [Bar(f).drawn(Look(blocks=True)) for f in (0, 0.5, 0.5125, 1)] == [
        "",
        "\u2588" * 5,
        "\u2588" * 5 + "\u258f",
        "\u2588" * 10,
    ]
