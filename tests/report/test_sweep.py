"""Several sizes beside each other."""

import json
from dataclasses import replace

import jsonschema
import pytest
from support import verdicts

from kernlint.cli.settings import MAX_SWEEP, parse_sweep
from kernlint.errors import UsageError
from kernlint.report.sweep import SizeAnswer, Sweep, render
from kernlint.schema import load

ANSWERS = (
    SizeAnswer({"M": 16}, verdicts.no()),
    SizeAnswer({"M": 0}, None, "--set M=0: no device can hold\x1b"),
    SizeAnswer({"M": 128}, verdicts.yes()),
    SizeAnswer({"M": 4096}, verdicts.yes()),
)
SWEEP = Sweep("k.py", "h100-sxm", "gpu", ANSWERS)


def test_json_fits_the_schema():
    data = json.loads(json.dumps(SWEEP.to_json(), allow_nan=False))
    jsonschema.Draft202012Validator(load("explain")).validate(data)
    assert data["flips"] == [
        {"from": {"M": 16}, "to": {"M": 128}, "before": "none", "after": "KL101 int8-upcast-before-dot"}
    ]


def test_text():
    text = render(SWEEP)
    rows = [line.split() for line in text.splitlines()]
    assert ["128", "yes", "KL101", "int8-upcast-before-dot", "63.1", "12.8", "3.9-5.6x", "40.0", "<-", "flips"] in rows
    assert "The best change flips between M=16 and M=128: none -> KL101 int8-upcast-before-dot." in text
    assert "\x1b" not in text
    assert "the same at all these sizes" in render(replace(SWEEP, answers=ANSWERS[2:]))


def test_lists_of_sizes():
    assert parse_sweep([]) == [{}]
    assert parse_sweep(["M=16"]) == [{"M": 16}]
    assert parse_sweep(["M=16, 128", "EPS=1e-5"]) == [{"M": 16, "EPS": 1e-5}, {"M": 128, "EPS": 1e-5}]
    assert parse_sweep(["M=1,2", "N=3,4"]) == [{"M": m, "N": n} for m in (1, 2) for n in (3, 4)]
    assert parse_sweep(["M=8,8"]) == [{"M": 8}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["M=1,"], "'' is not an int"),
        (["M=1,x"], "'x' is not an int"),
        (["M=1,2", "M=3"], "given twice"),
        (["M=1,2", "M=3,4"], "given twice"),
        (["=1,2"], "expected NAME=VALUE"),
        (["M=" + ",".join(map(str, range(MAX_SWEEP + 1)))], "65 sizes; a sweep takes 64"),
        (["A=1,2,3,4,5,6,7,8,9", "B=1,2,3,4,5,6,7,8"], "72 sizes"),
    ],
)
def test_bad_lists(settings, message):
    with pytest.raises(UsageError, match=message):
        parse_sweep(settings)
