"""From what a run reported to an answer: correct or not, faster or not. Pure functions of numbers.

An error is relative: |result - reference| / (|reference| + rms(reference)), at its worst element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from kernlint.verify.result import CaseResult, Timing

#: How the note of a case begins that the version before fails.
WRONG_BEFORE = "the version before is wrong"
#: The spacing of numbers near 1, of the types that results have.
_EPSILON = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e4m3fnuz": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "float8_e5m2fnuz": 2.0**-2,
}
#: What a result may be off by in each type when operands are rounded on the way (tf32 or fp16 for float32, and so on).
_WORKING = {"float64": 1e-9, "float32": 1e-2, "float16": 1e-2, "bfloat16": 4e-2}
_WORKING_FP8 = 0.25
#: After may be this many times as far from the reference as before was.
_GROWTH = 2.0
#: Roundings of the result's own type that are nobody's fault: sums in another order end one or two steps apart.
_STEPS = {"exact": 2.0, "reordered": 64.0}
#: Sixteen-bit results are rounded once, from sums in float32.
_STEPS_16 = {"exact": 2.0, "reordered": 2.0}

#: The middle part of the ratios that the reported interval holds, and the gain below which two times are alike.
_OUTSIDE = 0.1
_ALIKE = 1.02


def tolerance(dtype: str, numerics: str, error_before: float | None) -> float:
    """What the error of the changed version may be, for results of ``dtype`` under a change of this class of numerics."""
    epsilon = _EPSILON.get(dtype, 0.0)
    if numerics == "changed":
        allowed = _WORKING.get(dtype, _WORKING_FP8 if dtype in _EPSILON else 0.0)
    else:
        steps = _STEPS_16 if epsilon >= 2.0**-10 else _STEPS
        allowed = steps[numerics] * epsilon
    grown = _GROWTH * error_before if error_before is not None and math.isfinite(error_before) else 0.0
    # Before may be wrong itself: that is no licence.
    return max(allowed, min(grown, sane(dtype)))


def sane(dtype: str) -> float:
    """The largest error that a result of ``dtype`` can have and still count as the same computation."""
    return max(_WORKING.get(dtype, _WORKING_FP8 if dtype in _EPSILON else 0.0), 4 * _EPSILON.get(dtype, 0.0))


def judge_case(event: Mapping[str, Any], numerics: str, interpreted: bool) -> CaseResult:
    """The result of one ``case`` event of the child."""
    name, sizes = event["name"], event["sizes"]
    if event["status"] == "skipped":
        why = (
            event.get("why")
            or f"the {event.get('step', 'reference')} does not take these sizes: {words(event['error'])}"
        )
        return CaseResult(name, sizes, "skipped", note=why)
    if event["status"] == "failed":
        return _failed_case(event, interpreted)
    failures = event["failures"]
    before, after = failures.get("before"), failures.get("after")
    if after is not None:
        return _failed_version(name, sizes, before, after, interpreted)
    note = f"the version before fails: {words(before)}" if before is not None else ""
    return _judge_outputs(event, numerics, interpreted, note)


def _failed_case(event: Mapping[str, Any], interpreted: bool) -> CaseResult:
    error = event["error"]
    if error["type"] == "NoInputs":
        return CaseResult(event["name"], event["sizes"], "not checkable", message=error["text"])
    step = event["step"]
    if step == "before":
        return CaseResult(event["name"], event["sizes"], "skipped", note=f"the version before fails: {words(error)}")
    outcome = "not checkable" if _interpreter_fault(error, interpreted) else "failed"
    return CaseResult(event["name"], event["sizes"], outcome, message=f"{step}: {words(error)}")


def _failed_version(
    name: str, sizes: Mapping[str, Any], before: Any, after: Mapping[str, str], interpreted: bool
) -> CaseResult:
    if before is not None:
        if interpreted and _interpreter_fault(before, interpreted):
            return CaseResult(name, sizes, "not checkable", message=f"the interpreter cannot run it: {words(before)}")
        return CaseResult(name, sizes, "skipped", note=f"neither version runs at these sizes: {words(before)}")
    if _interpreter_fault(after, interpreted):
        return CaseResult(name, sizes, "not checkable", message=f"the interpreter cannot run it: {words(after)}")
    return CaseResult(name, sizes, "failed", message=f"the changed version fails: {words(after)}")


def _interpreter_fault(error: Mapping[str, str], interpreted: bool) -> bool:
    return interpreted and (error["type"] == "NotImplementedError" or error.get("inside") == "interpreter")


def words(error: Mapping[str, str]) -> str:
    """An error as the child describes it, in one line."""
    place = f" ({error['place']})" if error.get("place") else ""
    return f"{error['type']}: {error['text']}{place}" if error.get("text") else f"{error['type']}{place}"


def _judge_outputs(event: Mapping[str, Any], numerics: str, interpreted: bool, note: str) -> CaseResult:
    """The worst of all outputs."""
    name, sizes = event["name"], event["sizes"]
    notes = [note] if note else []
    problems: list[str] = []
    blamed_before: list[str] = []
    worst: tuple[float, float | None, float | None, float] | None = None
    for row in event["outputs"]:
        after, before = row.get("after", {}), row.get("before", {})
        against_before = row["against"] == "before"
        dtype = after.get("dtype", "")
        error_after = _error(row.get("difference") if against_before else after)
        error_before = 0.0 if against_before else _error(before)
        allowed = tolerance(dtype, numerics, error_before)
        problem = _problem(after, row if against_before else after, error_after, allowed, against_before)
        wrong_before = not against_before and _problem(before, before, error_before, sane(dtype), False)
        if problem and wrong_before:
            # Wrong before and wrong after: the change did not do it, if it left the result as it was.
            difference = _error(row.get("difference"))
            if difference is not None and difference <= sane(dtype):
                blamed_before.append(f"{row['path']}: {wrong_before}")
                continue
        if wrong_before:
            notes.append(f"{WRONG_BEFORE} here: {row['path']}: {wrong_before}")
        elif not problem and numerics == "exact":
            problem, note = _moved(row)
            notes += [f"{row['path']} {note}"] if note else []
        if problem:
            problems.append(f"{row['path']}: {problem}")
        share = (error_after or 0.0) / allowed if allowed else error_after or 0.0
        if not against_before and _grew(error_before, error_after):
            notes.append(f"rounding errors of {row['path']} grew from {error_before:.1g} to {error_after:.1g}")
        if error_after is not None and (worst is None or share > worst[0]):
            worst = (share, error_before, error_after, allowed)
    known: tuple[float | None, float | None, float | None] = (None, None, None) if worst is None else worst[1:]
    if (problems or blamed_before) and interpreted and event.get("half"):
        message = f"the interpreter computes bfloat16 wrongly: this says nothing ({(problems or blamed_before)[0]})"
        return CaseResult(name, sizes, "not checkable", message=message)
    if problems:
        return CaseResult(name, sizes, "incorrect", *known, "; ".join(problems[:3]), "; ".join(notes))
    if blamed_before:
        note = f"both versions are wrong here in the same way: {blamed_before[0]}"
        return CaseResult(name, sizes, "skipped", *known, "", note)
    return CaseResult(name, sizes, "correct", *known, "", "; ".join(notes))


def _moved(row: Mapping[str, Any]) -> tuple[str, str]:
    """(what is wrong, what to say) of an output under a change that is to leave every number as it is.

    Where the version before rounds what the changed one computes exactly (integer sums in float32), numbers may differ, but
    none may get farther from the reference.
    """
    moved = row.get("moved")
    if moved is None:
        return "", ""
    if not moved["count"]:
        return "", "is bit for bit what it was" if row["path"].startswith("result") else ""
    many = f"{moved['count']} of {moved['of']} elements"
    if moved.get("away"):
        place = "[" + ", ".join(map(str, moved["worst"])) + "]"
        return (
            f"the change is declared exact, but {many} differ from before, {moved['away']} of them farther from the reference: "
            f"at {place} it is {_number(moved['after'])}, before {_number(moved['before'])}, the reference {_number(moved['expected'])}",
            "",
        )
    if "away" in moved:
        return (
            "",
            f"is not bit for bit what it was: {many} differ, none farther from the reference by more than a rounding",
        )
    return "", f"is not bit for bit what it was: {many} differ by a rounding, and no reference says which is nearer"


def _grew(before: float | None, after: float | None) -> bool:
    """Whether errors grew by more than what is always granted, and are more than the last bits of float32."""
    return before is not None and after is not None and after > max(_GROWTH * before, 2 * _EPSILON["float32"])


def _error(measured: Mapping[str, Any] | None) -> float | None:
    """The error; infinite where an element is not finite that should be; None where shapes differ."""
    if measured is None or "error" not in measured:
        return None
    return math.inf if measured["wrong_nonfinite"] else float(measured["error"])


def _problem(
    result: Mapping[str, Any], row: Mapping[str, Any], error: float | None, allowed: float, against_before: bool
) -> str:
    """What is wrong with an output, in words; empty where nothing is."""
    if result.get("missing"):
        return "is missing"
    if result.get("unexpected"):
        return "is not part of the reference's result"
    if not result:
        return ""
    if result.get("unwritten"):
        return f"{result['unwritten']} elements were never written"
    measured = row.get("difference", {}) if against_before else row
    if error is None:
        shape = result.get("expected_shape")
        return f"has shape {result['shape']}" + (
            f", the reference {shape}" if shape is not None else ", before another"
        )
    if error > allowed:
        other = "before" if against_before else "the reference"
        place = "[" + ", ".join(map(str, measured["worst"])) + "]"
        value, expected = measured["value"], measured["expected"]
        return f"at {place} it is {_number(value)} where {other} is {_number(expected)} (error {error:.2g}, allowed {allowed:.2g})"
    return ""


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)


# -- times ------------------------------------------------------------------------------------------------------------


def timing(pairs: Sequence[Sequence[float]]) -> Timing | None:
    """Medians of (before, after) samples and of their ratios; None without samples."""
    pairs = [pair for pair in pairs if pair[0] > 0 and pair[1] > 0]
    if not pairs:
        return None
    ratios = sorted(before / after for before, after in pairs)
    cut = int(len(ratios) * _OUTSIDE)
    return Timing(
        median(pair[0] for pair in pairs),
        median(pair[1] for pair in pairs),
        median(ratios),
        ratios[cut],
        ratios[len(ratios) - 1 - cut],
        len(pairs),
    )


def speed(measured: Timing) -> str:
    """faster, slower, or inconclusive where the interval of ratios holds "the same", give or take two percent."""
    if measured.low > 1.0 and measured.speedup >= _ALIKE:
        return "faster"
    if measured.high < 1.0 and measured.speedup <= 1 / _ALIKE:
        return "slower"
    return "inconclusive"
