"""A choice that depends on the device is made without asking only for a device that was named, and where it surely gains."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace

import pytest

from kernlint.analysis import analyze, read_program
from kernlint.cli.main import main
from kernlint.cost.estimate import estimate
from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.finding import Context
from kernlint.rules.registry import find_rule
from kernlint.verdict.search import price

TILE = textwrap.dedent(find_rule("KL201").bad)
FILL = textwrap.dedent(find_rule("KL302").bad)


def test_a_tile_for_a_device_that_nobody_named_is_unsafe():
    result = fix_source(Request(TILE), rules=["KL201"])
    (refused,) = result.refused
    assert result.after == TILE and refused.unsafe and "no device was named" in refused.reason
    for device, unsafe in (("h100", False), (None, True)):
        (applied,) = fix_source(Request(TILE, device=device), rules=["KL201"], unsafe=unsafe).applied
        assert applied.effects.applicability == ("unsafe" if device is None else "safe")


def test_a_fill_is_dropped_only_with_consent():
    """It is overwritten at the sizes of the call; at others the grid may round down."""
    (refused,) = fix_source(Request(FILL), rules=["KL302"]).refused
    assert refused.unsafe and "at the sizes of the call" in refused.reason
    assert fix_source(Request(FILL), rules=["KL302"], unsafe=True).applied


def test_the_verdict_says_the_same_before_anything_is_changed():
    for device, expected in ((None, "unsafe"), ("h100", "safe")):
        assert analyze(TILE, device=device).to_json()["details"]["fix"]["applicability"] == expected


def test_a_gain_that_may_be_a_loss_is_unsafe_on_any_device():
    reading = read_program(Request(TILE, device="h100"))
    (workload,), gpu = reading.workloads, reading.device
    context = Context(reading.program, workload, gpu, price=lambda w: estimate(w, gpu))
    (found,) = price(context, [find_rule("KL201")])
    assert found.attempt.rewriting.effects.applicability == "safe"
    gains = {scope: replace(gain, low=0.8) for scope, gain in found.gains.items()}
    for doubtful, why in ((replace(found, gains=gains), "slower"), (replace(found, gains={}), "open sizes")):
        effects = doubtful.attempt.rewriting.effects
        assert effects.applicability == "unsafe" and why in " ".join(effects.notes)


@pytest.mark.parametrize(
    ("configuration", "arguments", "fixable"),
    [("", [], False), ("", ["--device", "h100"], True), ('device = "h100"\n', [], True)],
)
def test_check_takes_the_device_from_the_command_line_or_the_configuration(
    tmp_path, capfd, configuration, arguments, fixable
):
    (tmp_path / "kernel.py").write_text(TILE)
    (tmp_path / "kernlint.toml").write_text(configuration)
    path = str(tmp_path / "kernel.py")
    main(["check", path, "--no-cache", "--select", "KL201", "--output-format", "json", *arguments])
    (finding,) = json.loads(capfd.readouterr().out)
    assert finding["fix"]["applicability"] == ("safe" if fixable else "unsafe")
