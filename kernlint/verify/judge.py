"""From what a run reported to an answer: correct or not, faster or not. Pure functions of numbers.

Errors are counted in units: what rounding explains for that element, of these inputs, in the formats that are computed in
(:mod:`kernlint.verify.child.noise`). Three things are asked of a result: that no element is off by more than a few units, that
all together are not, and that they are not off the same way, as a wrong constant makes them. In each, the changed version may
be as bad as a small multiple of the version before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from kernlint.verify.result import CaseResult, Timing

#: How the note of a case begins that the version before fails.
WRONG_BEFORE = "the version before is wrong"
#: The same of sizes for which the reference, or what makes its arguments, raises an error.
REFUSED = "the reference does not take these sizes"
#: The same of arguments that lie apart in memory.
NO_SLICES = "the version before takes no slices"
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
#: The largest error, relative to |reference| + rms(reference), with which a version before is still the same computation.
_SANE = {"float64": 1e-9, "float32": 1e-2, "float16": 1e-2, "bfloat16": 4e-2}
_SANE_FP8 = 0.25
#: An element may be off by this many units, and after by this many times as much as before.
_UNITS = 2.0
_GROWTH = 2.0
#: All elements together may be off by this, as a root mean square; the same growth is granted.
_SPREAD = 1.0
#: Standard errors that a common factor or offset may be from none.
_DEVIATIONS = 5.0
#: A factor that is less than this part of the errors around it may be theirs.
_HIDDEN = 0.5

#: The middle part of the ratios that the reported interval holds, and the gain below which two times are alike.
_OUTSIDE = 0.1
_ALIKE = 1.02


def sane(dtype: str) -> float:
    """The largest error that a result of ``dtype`` can have and still count as the same computation; none for integers."""
    return max(_SANE.get(dtype, _SANE_FP8 if dtype in _EPSILON else 0.0), 4 * _EPSILON.get(dtype, 0.0))


def unexplained(before: Mapping[str, Any]) -> bool:
    """Whether the results of the version before are the reference's times a factor that no rounding explains."""
    low, high = _factors(before, 1.0)
    hidden = _HIDDEN * before.get("scatter", 0.0)
    return not low - hidden <= before["factor"] <= high + hidden


def _factors(row: Mapping[str, Any], noise: float) -> tuple[float, float]:
    """The factors, less one, that rounding explains; ``noise`` says how many times the usual errors are."""
    room = _DEVIATIONS * row.get("factor_noise", 0.0) * noise + row.get("factor_shared", 0.0)
    cut = row.get("factor_cut", 0.0)
    return min(cut, 0.0) - room, max(cut, 0.0) + room


def judge_case(event: Mapping[str, Any], numerics: str, interpreted: bool) -> CaseResult:
    """The result of one ``case`` event of the child."""
    name, sizes = event["name"], event["sizes"]
    if event["status"] == "skipped":
        why = event.get("why") or f"{REFUSED}: {words(event['error'])}"
        return CaseResult(name, sizes, "skipped", note=why)
    if event["status"] == "failed":
        return _failed_case(event, interpreted)
    failures = event["failures"]
    before, after = failures.get("before"), failures.get("after")
    if after is not None and not (event.get("apart") and before is not None):
        return _failed_version(name, sizes, before, after, interpreted)
    note = f"the version before fails: {words(before)}" if before is not None else ""
    return _judge_outputs(event, numerics, note)


def _failed_case(event: Mapping[str, Any], interpreted: bool) -> CaseResult:
    error = event["error"]
    if error["type"] == "NoInputs":
        return CaseResult(event["name"], event["sizes"], "not_checkable", message=error["text"])
    step = event["step"]
    if step == "before":
        return CaseResult(event["name"], event["sizes"], "skipped", note=f"the version before fails: {words(error)}")
    outcome = "not_checkable" if _interpreter_fault(error, interpreted) else "failed"
    return CaseResult(event["name"], event["sizes"], outcome, message=f"{step}: {words(error)}")


def _failed_version(
    name: str, sizes: Mapping[str, Any], before: Any, after: Mapping[str, str], interpreted: bool
) -> CaseResult:
    if before is not None:
        if interpreted and _interpreter_fault(before, interpreted):
            return CaseResult(name, sizes, "not_checkable", message=f"the interpreter cannot run it: {words(before)}")
        return CaseResult(name, sizes, "skipped", note=f"neither version runs at these sizes: {words(before)}")
    if _interpreter_fault(after, interpreted):
        return CaseResult(name, sizes, "not_checkable", message=f"the interpreter cannot run it: {words(after)}")
    return CaseResult(name, sizes, "failed", message=f"the changed version fails: {words(after)}")


def _interpreter_fault(error: Mapping[str, str], interpreted: bool) -> bool:
    return interpreted and (error["type"] == "NotImplementedError" or error.get("inside") == "interpreter")


def words(error: Mapping[str, str]) -> str:
    """An error as the child describes it, in one line."""
    place = f" ({error['place']})" if error.get("place") else ""
    return f"{error['type']}: {error['text']}{place}" if error.get("text") else f"{error['type']}{place}"


def _judge_outputs(event: Mapping[str, Any], numerics: str, note: str) -> CaseResult:
    """The answer for all outputs together, with the errors of the worst."""
    name, sizes = event["name"], event["sizes"]
    answers = [row.get("before", {}) for row in event["outputs"] if row["against"] == "reference"]
    if event.get("apart") and (note or any(map(_wrong_before, answers))):
        return CaseResult(name, sizes, "skipped", note=NO_SLICES)
    notes = [note] if note else []
    problems: list[str] = []
    blamed_before: list[str] = []
    shown: list[_Shown] = []
    for row in event["outputs"]:
        before = row.get("before", {})
        against_before = row["against"] == "before"
        wrong_before = "" if against_before else _wrong_before(before)
        # What is wrong is no measure of how small the errors have to be.
        measure = before if "error" in before and not wrong_before and not against_before else {}
        one = _Shown(row, measure)
        problem = one.problem(measure) or ("" if wrong_before else one.unlike_before())
        if problem and wrong_before and one.same_as_before():
            # Wrong before and wrong after: the change did not do it, if it left the result as it was.
            blamed_before.append(f"{row['path']}: {wrong_before}")
            continue
        if wrong_before:
            notes.append(f"{WRONG_BEFORE} here: {row['path']}: {wrong_before}")
        elif not problem and numerics == "exact":
            problem, note = _moved(row)
            notes += [f"{row['path']} {note}"] if note else []
        if problem:
            problems.append(f"{row['path']}: {problem}")
        if not against_before and _grew(one.before, one.after):
            notes.append(f"rounding errors of {row['path']} grew from {one.before:.1g} to {one.after:.1g}")
        if one.after is not None:
            shown.append(one)
    worst = max(shown, key=lambda one: one.share, default=None)
    known: dict[str, Any] = {}
    if worst is not None:
        known = {"error_before": worst.before, "error_after": worst.after, "tolerance": worst.allowed}
        known |= {"factor": 1.0 + worst.measured["factor"] if "factor" in worst.measured else None}
    if problems:
        return CaseResult(name, sizes, "incorrect", message="; ".join(problems[:3]), note="; ".join(notes), **known)
    if blamed_before:
        note = f"both versions are wrong here in the same way: {blamed_before[0]}"
        return CaseResult(name, sizes, "skipped", note=note, **known)
    return CaseResult(name, sizes, "correct", note="; ".join(notes), **known)


class _Shown:
    """One output of the changed version: its errors and what they may be."""

    def __init__(self, row: Mapping[str, Any], measure: Mapping[str, Any]) -> None:
        self.row = row
        self.against_before = row["against"] == "before"
        self.result: Mapping[str, Any] = row.get("after", {})
        #: Holds error, wrong_nonfinite and so on, where shapes agree.
        self.distance: Mapping[str, Any] = row.get("difference", {}) if self.against_before else self.result
        #: Holds what of the error rounding explains, for floating-point results.
        self.measured: Mapping[str, Any] = self.result if "excess" in self.result else {}
        self.after = _error(self.distance)
        self.before = 0.0 if self.against_before else _error(row.get("before"))
        self.units = max(_UNITS, _GROWTH * measure.get("excess", 0.0))
        self.share = self.measured.get("excess", self.after or 0.0) / self.units
        self.allowed = self.units * self.measured.get("allowance", 0.0)

    def problem(self, measure: Mapping[str, Any]) -> str:
        """What is wrong, in words; empty where nothing is. ``measure`` are the errors of the version before."""
        fault = _fault(self.result, self.after)
        if fault or not self.result:
            return fault
        assert self.after is not None
        scaled = self._scaled(measure)
        if math.isinf(self.after) or self.share > 1.0 or (not self.measured and self.after > 0.0):
            # Where a factor explains most of the errors it is what there is to say.
            return (
                scaled if scaled and abs(self.measured["factor"]) > self.measured.get("scatter", 0.0) else self._place()
            )
        return scaled or self._together(measure)

    def unlike_before(self) -> str:
        """Whether whoever uses the result would notice that another version made it, right as its numbers are: by its element type,
        or by what later calls do to it and give."""
        was = self.row.get("before", {})
        before, after = was.get("dtype"), self.result.get("dtype")
        if before and after and before != after:
            return f"has the type {after}, before {before}"
        return "" if was.get("unsteady") else str(self.result.get("unsteady", ""))

    def same_as_before(self) -> bool:
        """Whether the two versions differ by no more than rounding explains."""
        difference = _error(self.row.get("difference"))
        return difference is not None and difference <= 2 * _UNITS * self.measured.get("widest", 0.0)

    def _scaled(self, measure: Mapping[str, Any]) -> str:
        """Whether results are the truth times a factor that nothing explains."""
        if "factor" not in self.measured:
            return ""
        noise = max(1.0, _GROWTH * measure.get("spread", 0.0))
        low, high = _factors(self.measured, noise)
        usual = _GROWTH * measure.get("factor", 0.0)
        low, high = low + min(usual, 0.0), high + max(usual, 0.0)
        factor = self.measured["factor"]
        if low <= factor <= high:
            return ""
        return (
            f"all of it is {1 + factor:.6g} times {self._other()} (rounding explains {1 + low:.6g} to {1 + high:.6g})"
        )

    def _together(self, measure: Mapping[str, Any]) -> str:
        """Whether errors that are small one by one are too much, or too much alike, all together."""
        if not self.measured:
            return ""
        spread, most = self.measured["spread"], max(_SPREAD, _GROWTH * measure.get("spread", 0.0))
        if spread > most:
            return f"errors are {spread:.2g} times what rounding explains, all over ({most:.2g} times are allowed)"
        drift = self.measured["drift"]
        room = _DEVIATIONS * self.measured.get("drift_noise", 0.0) * max(1.0, most)
        room += self.measured.get("drift_shared", 0.0) + _GROWTH * abs(measure.get("drift", 0.0))
        if abs(drift) > room:
            side = "above" if drift > 0 else "below"
            return f"on average it is {abs(drift):.2g} roundings {side} {self._other()} ({room:.2g} are allowed)"
        return ""

    def _place(self) -> str:
        """The worst element."""
        row = self.distance
        if not self.measured or math.isinf(self.after or 0.0):
            return f"{self._at(row['worst'], row['value'], row['expected'])} (error {self.after:.2g}, allowed 0)"
        place = self._at(self.measured["at"], self.measured["value_at"], self.measured["expected_at"])
        return f"{place} ({self.measured['excess']:.3g} times what rounding explains, allowed {self.units:.3g})"

    def _at(self, index: Sequence[int], value: Any, expected: Any) -> str:
        place = ", ".join(map(str, index))
        return f"at [{place}] it is {_number(value)} where {self._other()} is {_number(expected)}"

    def _other(self) -> str:
        return "before" if self.against_before else "the reference"


def _wrong_before(before: Mapping[str, Any]) -> str:
    """What is wrong with the version before, whatever its formats; empty where nothing is."""
    error = _error(before)
    fault = _fault(before, error)
    if fault or not before or error is None:
        return fault
    if error > sane(before.get("dtype", "")):
        index = ", ".join(map(str, before["worst"]))
        value, expected = _number(before["value"]), _number(before["expected"])
        return f"at [{index}] it is {value} where the reference is {expected} (error {error:.2g})"
    if before.get("scaled"):
        return f"all of it is {1 + before['factor']:.6g} times the reference"
    return ""


def _fault(result: Mapping[str, Any], error: float | None) -> str:
    """What is wrong with an output before its numbers are looked at."""
    if result.get("missing"):
        return "is missing"
    if result.get("unexpected"):
        return "is not part of the reference's result"
    if not result:
        return ""
    if result.get("unwritten"):
        return f"{result['unwritten']} elements were never written"
    if error is None:
        shape = result.get("expected_shape")
        other = f", the reference {shape}" if shape is not None else ", before another"
        return f"has shape {result['shape']}{other}"
    return ""


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
    least = 2 * _EPSILON["float32"]
    return before is not None and after is not None and math.isfinite(after) and after > max(_GROWTH * before, least)


def _error(measured: Mapping[str, Any] | None) -> float | None:
    """The error; infinite where an element is not finite that should be; None where shapes differ."""
    if measured is None or "error" not in measured:
        return None
    return math.inf if measured["wrong_nonfinite"] else float(measured["error"])


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
