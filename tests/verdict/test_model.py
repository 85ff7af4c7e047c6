import json
from dataclasses import replace

import jsonschema
import pytest
from support import verdicts as examples

from kernlint.schema import load
from kernlint.verdict.model import EstimateReport, FindingReport, ScopeEstimate

ANSWERS = [
    "worth_optimizing",
    "reason",
    "bottleneck",
    "optimisation method",
    "modification plan",
    "expected_speedup",
]


def validate(data):
    jsonschema.Draft202012Validator(load("verdict")).validate(data)


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(load("verdict"))


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(examples.yes(), id="yes"),
        pytest.param(examples.no(), id="no"),
        pytest.param(examples.yes(examples.SYMBOLIC, "not predicted"), id="yes with symbolic sizes"),
    ],
)
@pytest.mark.parametrize("details", [True, False])
def test_json_fits_the_schema(verdict, details):
    data = json.loads(json.dumps(verdict.to_json(details), allow_nan=False))
    validate(data)
    assert list(data) == ANSWERS + ["details"] * details


def test_details_are_in_order():
    assert list(examples.yes().to_json()["details"]) == [
        "schema_version",
        "kernlint_version",
        "model_version",
        "file",
        "kernel",
        "certainty",
        "scenarios",
        "category",
        "rule",
        "location",
        "fix",
        "estimate",
        "headroom",
        "follow_ups",
        "findings",
        "measured",
        "verification",
    ]


def test_numbers_are_rounded():
    gpu = examples.yes().to_json()["details"]["estimate"]["gpu"]
    assert gpu == {
        "before_us": 63.12,
        "after_us": 12.81,
        "reference_us": 40.0,
        "speedup": 4.93,
        "low": 3.9,
        "high": 5.6,
        "worth": True,
    }


def test_the_chosen_scope():
    assert examples.ESTIMATE.chosen is examples.GPU
    assert replace(examples.ESTIMATE, scope="call").chosen is examples.CALL


def spoil(data, *path):
    """``data`` with the value at ``path`` (keys, then the new value) replaced."""
    *keys, last, value = path
    target = data
    for key in keys:
        target = target[key]
    target[last] = value
    return data


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(("worth_optimizing", True), id="a boolean for yes"),
        pytest.param(("worth_optimizing", "no"), id="advice although the answer is no"),
        pytest.param(("bottleneck", ""), id="yes without a bottleneck"),
        pytest.param(("expected_speedup", "about 2x"), id="speedup in another form"),
        pytest.param(("comment", "hi"), id="an unknown key"),
        pytest.param(("details", "category", "speed"), id="an unknown category"),
        pytest.param(("details", "rule", "code", "101"), id="a code of another form"),
        pytest.param(("details", "location", "line", 0), id="lines from zero"),
        pytest.param(("details", "estimate", "gpu", "before_us", -1), id="a negative time"),
        pytest.param(("details", "estimate", "scope", "cpu"), id="an unknown scope"),
        pytest.param(("details", "findings", 0, "severity", "fatal"), id="an unknown severity"),
    ],
)
def test_the_schema_is_strict(path):
    with pytest.raises(jsonschema.ValidationError):
        validate(spoil(examples.yes().to_json(), *path))


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda: replace(examples.no(), bottleneck="cast"), id="advice although the answer is no"),
        pytest.param(lambda: replace(examples.yes(), modification_plan=""), id="yes without a plan"),
        pytest.param(lambda: replace(examples.no(), reason=""), id="no reason"),
        pytest.param(lambda: ScopeEstimate(before_us=float("nan")), id="not a number"),
        pytest.param(lambda: ScopeEstimate(speedup=float("inf")), id="infinite"),
        pytest.param(lambda: ScopeEstimate(low=2.0, high=1.0), id="upside down"),
        pytest.param(lambda: EstimateReport("h100-sxm", "cpu", {}, ScopeEstimate(), ScopeEstimate()), id="scope"),
        pytest.param(lambda: FindingReport(examples.RULE, "fatal", "m", examples.PLACE), id="severity"),
        pytest.param(lambda: replace(examples.yes().details, category="speed"), id="category"),
    ],
)
def test_contradictions_cannot_be_built(build):
    with pytest.raises(ValueError, match=r"."):
        build()
