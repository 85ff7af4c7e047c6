"""The judgement on what a run reported."""

from __future__ import annotations

import pytest

from kernlint.verify.judge import judge_case, speed, timing, unexplained


def output(before=0.5, after=0.5, difference=1e-5, dtype="float16", error=1e-4, **more):
    """``before`` and ``after`` are in units of what rounding explains."""

    def side(units):
        return {
            "dtype": dtype, "shape": [4], "expected_shape": [4], "unwritten": 0, "error": error * units, "wrong_nonfinite": 0,
            "worst": [2], "value": 1.5, "expected": 1.0, "excess": units, "at": [2], "value_at": 1.5, "expected_at": 1.0,
            "allowance": error, "widest": error, "spread": units / 2, "factor": 0.0, "factor_noise": 1e-5, "factor_shared": 0.0,
            "factor_cut": 0.0, "drift": 0.0, "drift_noise": 0.01, "drift_shared": 0.0, "scatter": 1e-4,
        }  # fmt: skip

    row = {
        "path": "result",
        "before": side(before),
        "after": side(after),
        "difference": {"error": difference, "wrong_nonfinite": 0, "worst": [2], "value": 1.5, "expected": 1.0},
        "against": "reference",
    }
    row["after"] |= more
    return row


def event(*outputs, failures=None, reference="float64"):
    return {
        "name": "odd", "sizes": {"M": 3}, "status": "run", "failures": failures or {}, "outputs": list(outputs),
        "reference": reference,
    }  # fmt: skip


ERROR = {"type": "ValueError", "text": "no", "place": "", "inside": ""}


def test_equal_errors_are_correct():
    assert judge_case(event(output()), "exact", False).outcome == "correct"


@pytest.mark.parametrize(
    ("before", "after", "outcome"), [(4, 7.9, "correct"), (4, 8.1, "incorrect"), (0.1, 2.1, "incorrect")]
)
def test_errors_may_double_at_most(before, after, outcome):
    for numerics in ("exact", "reordered", "changed"):
        found = judge_case(event(output(before, after)), numerics, False)
        assert found.outcome == outcome
        assert found.tolerance == pytest.approx(1e-4 * max(2, 2 * before))


def test_a_wrong_version_before_is_no_licence():
    wrong = output(4000, 7.9, 0.4)
    assert wrong["before"]["error"] > 0.1
    assert judge_case(event(wrong), "exact", False).outcome == "incorrect"


def test_many_small_errors_are_too_much_all_together():
    found = judge_case(event(output(0.5, 1.9, spread=1.2)), "changed", False)
    assert found.outcome == "incorrect" and "all over" in found.message
    assert judge_case(event(output(1.4, 1.9, spread=1.2)), "changed", False).outcome == "correct"


@pytest.mark.parametrize(
    ("factor", "more", "outcome"),
    [
        (4.9e-5, {}, "correct"),
        (-4.9e-5, {}, "correct"),
        (5.1e-5, {}, "incorrect"),
        (-1e-3, {}, "incorrect"),
        (-1e-3, {"factor_cut": -1e-3}, "correct"),
        (1e-3, {"factor_cut": -1e-3}, "incorrect"),
        (1e-3, {"factor_shared": 1e-3}, "correct"),
    ],
)
def test_a_factor_that_rounding_does_not_explain(factor, more, outcome):
    found = judge_case(event(output(factor=factor, **more)), "changed", False)
    assert found.outcome == outcome and found.factor == 1 + factor
    assert outcome == "correct" or "times the reference" in found.message


def test_the_factor_of_the_version_before_may_double():
    row = output(factor=-1.9e-3, difference=1e-2)
    row["before"] |= {"factor": -1e-3}
    assert judge_case(event(row), "reordered", False).outcome == "correct"
    row["before"] |= {"factor": 1e-3}
    assert judge_case(event(row), "reordered", False).outcome == "incorrect"
    # One that nothing explains is no measure.
    row["before"] |= {"factor": -1e-3, "scaled": True}
    assert judge_case(event(row), "reordered", False).outcome == "incorrect"


@pytest.mark.parametrize(("scatter", "wrong"), [(1e-4, True), (4e-3, False)])
def test_a_factor_less_than_the_errors_around_it_may_be_theirs(scatter, wrong):
    assert unexplained(output()["before"] | {"factor": 1e-3, "scatter": scatter}) is wrong


@pytest.mark.parametrize(("drift", "outcome"), [(0.049, "correct"), (0.06, "incorrect"), (-0.06, "incorrect")])
def test_errors_of_one_sign(drift, outcome):
    found = judge_case(event(output(drift=drift)), "changed", False)
    assert found.outcome == outcome
    assert outcome == "correct" or ("above" if drift > 0 else "below") in found.message


def test_an_unwritten_element_is_found():
    found = judge_case(event(output(unwritten=7)), "exact", False)
    assert found.outcome == "incorrect" and "7 elements were never written" in found.message


def test_infinities_where_there_should_be_none():
    assert judge_case(event(output(wrong_nonfinite=1)), "changed", False).outcome == "incorrect"


def test_a_shape_that_differs():
    row = output()
    for key in ("error", "wrong_nonfinite", "excess"):
        del row["after"][key]
    assert "has shape" in judge_case(event(row), "changed", False).message


def test_integers_are_exact():
    row = output(0.0, 1e-3, dtype="int32")
    del row["after"]["excess"], row["before"]["excess"]
    assert judge_case(event(row), "changed", False).outcome == "incorrect"
    row["after"]["error"] = 0.0
    assert judge_case(event(row), "changed", False).outcome == "correct"


def test_both_wrong_alike_is_not_blamed_on_the_change():
    found = judge_case(event(output(5000, 5000, 1e-6)), "exact", False)
    assert found.outcome == "skipped" and "both versions are wrong" in found.note


def test_both_wrong_differently_is_blamed():
    assert judge_case(event(output(5000, 5000, 0.5)), "exact", False).outcome == "incorrect"


def test_a_change_that_mends_says_so():
    found = judge_case(event(output(5000, 1, 0.5)), "exact", False)
    assert found.outcome == "correct" and "the version before is wrong here" in found.note


@pytest.mark.parametrize(
    ("failures", "outcome"),
    [
        ({"after": ERROR}, "failed"),
        ({"before": ERROR, "after": ERROR}, "skipped"),
        ({"after": {**ERROR, "type": "NotImplementedError"}}, "not_checkable"),
    ],
)
def test_failures(failures, outcome):
    assert judge_case(event(failures=failures), "exact", True).outcome == outcome


def test_sizes_that_the_reference_does_not_take():
    skipped = {"name": "odd", "sizes": {}, "status": "skipped", "step": "reference", "error": ERROR}
    assert judge_case(skipped, "exact", True).outcome == "skipped"


def test_without_a_reference_before_is_the_truth():
    row = {"path": "result", "before": {"dtype": "float16", "shape": [4]}, "after": {"dtype": "float16", "shape": [4]}}
    row |= {"against": "before", "difference": output()["difference"] | {"error": 0.5}}
    row["after"] |= {key: value for key, value in output(1, 5000)["after"].items() if key not in ("error", "worst")}
    assert judge_case(event(row, reference="none"), "exact", True).outcome == "incorrect"


@pytest.mark.parametrize(
    ("pairs", "word"),
    [
        ([(10.0, 5.0), (11.0, 5.1), (10.2, 5.0)], "faster"),
        ([(5.0, 10.0), (5.1, 10.0), (5.0, 10.5)], "slower"),
        ([(10.0, 9.0), (9.0, 10.0), (10.0, 10.0)], "inconclusive"),
        ([(10.0, 9.95), (10.0, 9.9), (10.0, 9.92)], "inconclusive"),
    ],
)
def test_speed(pairs, word):
    found = timing(pairs)
    assert found is not None and speed(found) == word


def test_no_samples_are_no_timing():
    assert timing([]) is None


@pytest.mark.parametrize(
    ("moved", "outcome", "note"),
    [
        ({"count": 0, "of": 9}, "correct", "bit for bit what it was"),
        ({"count": 3, "of": 9, "away": 0}, "correct", "3 of 9 elements differ, none farther"),
        ({"count": 3, "of": 9}, "correct", "no reference says"),
        (
            {"count": 3, "of": 9, "away": 1, "worst": [2], "after": 1.5, "before": 1.0, "expected": 1.0},
            "incorrect",
            "",
        ),
    ],
)  # fmt: skip
def test_an_exact_change_leaves_every_bit(moved, outcome, note):
    row = output() | {"moved": moved}
    found = judge_case(event(row), "exact", False)
    assert found.outcome == outcome
    assert note in found.note
    assert outcome == "correct" or "at [2] it is 1.5, before 1" in found.message
    # A change that may round otherwise is judged by its errors alone.
    assert judge_case(event(row), "reordered", False).outcome == "correct"


def test_elements_that_move_are_told_from_those_that_get_away():
    torch = pytest.importorskip("torch")
    from kernlint.verify.child.metrics import moved

    truth = torch.tensor([1.0, 2.0, 4.0, float("nan")], dtype=torch.float64)
    before = torch.tensor([1.001, 2.0, 4.0, float("nan")], dtype=torch.float16)
    nearer = torch.tensor([1.0, 2.0, 4.0, float("nan")], dtype=torch.float16)
    assert moved(before, before, truth) == {"count": 0, "of": 4}
    assert moved(nearer, before, truth) == {"count": 1, "of": 4, "away": 0}
    farther = torch.tensor([1.0, 2.0, 4.1, float("nan")], dtype=torch.float16)
    found = moved(farther, nearer, truth)
    assert (found["count"], found["away"], found["worst"]) == (1, 1, [2])
    assert moved(torch.tensor([3]), torch.tensor([2]), torch.tensor([2]))["away"] == 1
    assert "away" not in moved(farther, nearer, None)


def test_another_element_type_is_another_result():
    found = judge_case(
        event(output(dtype="float32", after=0.1) | {"after": output(dtype="float16")["after"]}), "changed", False
    )
    assert found.outcome == "incorrect" and "has the type float16, before float32" in found.message
    wrong = output(4000, 0.5, 0.4, dtype="float32") | {"after": output(dtype="float16")["after"]}
    assert judge_case(event(wrong), "changed", False).outcome == "correct"


def test_what_the_next_call_does_to_a_result_is_asked_too():
    row = output(unsteady="is overwritten by the next call")
    assert judge_case(event(row), "exact", False).outcome == "incorrect"
    row["before"]["unsteady"] = "is overwritten by the next call"
    assert judge_case(event(row), "exact", False).outcome == "correct"
