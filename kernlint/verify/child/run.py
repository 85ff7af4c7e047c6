"""Runs the reference and all versions on the same arguments, case by case, and reports how their results differ."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kernlint.verify.child.reporter import Reporter, describe

#: Of the device's memory.
_DEVICE_SHARE = 0.9
#: The other byte for integers that look unwritten.
_SECOND_FILL = 0xA5


def main(job: Mapping[str, Any], results: str) -> None:
    """The job's ``backend`` is interpreter or gpu; ``cases`` are run in order until ``budget_s`` is spent."""
    reporter = Reporter(results)
    # The code may change its folder.
    job = {**job, "files": {version: os.path.abspath(path) for version, path in job["files"].items()}}
    interpreted = job["backend"] == "interpreter"
    if interpreted:
        os.environ["TRITON_INTERPRET"] = "1"
    started = time.monotonic()
    with ExitStack() as stack:
        try:
            _prepare(job, interpreted, stack)
        except Exception as error:
            reporter.event("failed", step="start", error=describe(error))
            reporter.event("end")
            return
        for index, case in enumerate(job["cases"]):
            _Tuning.turn = index
            if index and time.monotonic() - started > job["budget_s"]:
                reporter.event("case", name=case["name"], sizes=case["set"], status="skipped", why="no time was left")
                continue
            if not _Case(job, case, reporter, interpreted).run():
                break
    reporter.event("end")


def _prepare(job: Mapping[str, Any], interpreted: bool, stack: ExitStack) -> None:
    import sys

    import torch

    sys.path[:0] = job.get("search", [])
    if interpreted:
        from kernlint.verify.child.modes import PretendCuda, pretend_cuda
        from kernlint.verify.child.rounding import round_as_gpus

        pretend_cuda(job["device"])
        stack.enter_context(PretendCuda())
        _tune_in_turn()
        round_as_gpus()
    else:
        torch.cuda.set_per_process_memory_fraction(_DEVICE_SHARE)
        torch.cuda.init()
    stack.enter_context(torch.no_grad())


class _Tuning:
    """``turn`` is the number of the case that runs."""

    turn = 0


def _tune_in_turn() -> None:
    """The interpreter cannot time: each autotuner takes its first configuration for the first case, the second for the
    second, and so on, so that all of them are tried where there are cases enough."""
    from triton.runtime.autotuner import Autotuner

    plain = Autotuner.run

    def run_one(self: Any, *args: Any, **kwargs: Any) -> Any:
        every = vars(self).setdefault("every_configuration", list(self.configs))
        if every:
            self.configs = [every[_Tuning.turn % len(every)]]
        return plain(self, *args, **kwargs)

    Autotuner.run = run_one


class _Case:
    """One set of sizes. Each step is announced before it begins, so that the parent knows what a dead child died of."""

    def __init__(self, job: Mapping[str, Any], case: Mapping[str, Any], reporter: Reporter, interpreted: bool) -> None:
        self.job, self.case, self.reporter, self.interpreted = job, case, reporter, interpreted
        self.device = "cpu" if interpreted else "cuda"
        self.failures: dict[str, dict[str, str]] = {}
        self.step = ""

    def run(self) -> bool:
        """Whether the process can go on: after a fault of the device it cannot."""
        try:
            self._compare()
        except BaseException as error:  # SystemExit and KeyboardInterrupt are the code's doing too
            self._report("skipped" if self.step in ("reference", "inputs") else "failed", self.step, error)
            return not self._lost()
        return not self._lost()

    def _begin(self, step: str) -> None:
        self.step = step
        self.reporter.event("begin", case=self.case["name"], step=step, at_s=round(time.monotonic(), 3))

    def _report(self, status: str, step: str = "", error: BaseException | None = None, **values: Any) -> None:
        if error is not None:
            values |= {"step": step, "error": describe(error)}
        self.reporter.event("case", name=self.case["name"], sizes=self.case["set"], status=status, **values)

    def _lost(self) -> bool:
        """Whether the device no longer answers."""
        if self.interpreted:
            return False
        import torch

        try:
            torch.cuda.synchronize()
        except Exception:
            return True
        return False

    def _compare(self) -> None:
        from kernlint.verify.child import subjects
        from kernlint.verify.child.subjects import build_reference, build_version, load_setting

        setting = load_setting(self.job, self.case["set"], self.device, self._begin)
        self._begin("reference")
        reference = build_reference(setting)
        self._begin("inputs")
        arguments = subjects.apart(subjects.arguments(setting, self.case.get("extents")), self.case.get("apart", ""))
        subject: dict[str, Any] = {}
        like = reference
        for version in setting.versions:
            self._begin(version)
            try:
                subject[version] = build_version(setting, version, like)
            except subjects.NoInputs:
                raise
            except BaseException as error:
                self.failures[version] = describe(error)
                continue
            like = like or subject[version]
        truth, precision = None, "none"
        if reference is not None:
            self._begin("reference")
            truth, precision = self._truth(reference, arguments)
        exact = reference if precision == "float64" else None
        rounding = _Reference(exact, arguments, self.device, self.interpreted)
        outcomes = {}
        for version, one in subject.items():
            self._begin(version)
            try:
                outcomes[version] = self._outcome(one, arguments)
            except BaseException as error:
                self.failures[version] = describe(error)
                if self._lost():
                    break
        self._begin("comparison")
        self._report(
            "run",
            failures=self.failures,
            outputs=_compared(outcomes, truth, rounding, self.job.get("formats", {})),
            reference=precision,
            apart=self.case.get("apart", ""),
        )
        del truth
        if self.case.get("timed") and not self.interpreted and {"before", "after"} <= outcomes.keys():
            subject = {version: subject[version] for version in outcomes}
            del outcomes
            self._begin("timing")
            self._time(subject, arguments)

    def _truth(self, reference: Any, arguments: list[Any]) -> tuple[dict[str, Any], str]:
        """The reference's results in float64 where that works, else as it computes by itself, and which of them it is."""
        import torch

        from kernlint.verify.child import subjects
        from kernlint.verify.child.modes import precise

        try:
            own = _doubled(reference)
            with precise():
                given = subjects.widened(subjects.placed(arguments, self.device))
                return _truth(own.call, given), "float64"
        except Exception:
            # A reference that only runs in its own precision, or whose float64 results do not fit into memory.
            if not self.interpreted:
                torch.cuda.empty_cache()
        return _truth(reference.call, subjects.placed(arguments, self.device)), "as written"

    def _outcome(self, subject: Any, arguments: list[Any]) -> dict[str, Any]:
        """Results of one call, and which of their elements were never written."""
        from kernlint.verify.child.modes import Poison

        poison = Poison()
        results = self._called(subject, arguments, poison)
        unwritten = {path: poison.unwritten(tensor) for path, tensor in results.items()}
        doubtful = [
            p for p, u in unwritten.items() if u is not None and not poison.telling(results[p].dtype) and u.any()
        ]
        if doubtful:
            # An integer can be the pattern by chance: ask again with another.
            other = Poison(_SECOND_FILL)
            again = self._called(subject, arguments, other)
            for path in doubtful:
                second = other.unwritten(again[path])
                assert second is not None
                unwritten[path] = unwritten[path] & second
        counts = {path: 0 if u is None else int(u.sum()) for path, u in unwritten.items()}
        unsteady = self._unsteady(subject, arguments, results) if self.case.get("again") else {}
        return {"results": results, "unwritten": counts, "unsteady": unsteady}

    def _unsteady(self, subject: Any, arguments: list[Any], results: Mapping[str, Any]) -> dict[str, str]:
        """What the next call on the same arguments does to ``results``, or makes otherwise, in words by place."""
        from kernlint.verify.child.metrics import error
        from kernlint.verify.child.modes import Poison
        from kernlint.verify.judge import sane

        firsts = {path: one for path, one in results.items() if path.startswith("result")}
        try:
            seconds = self._called(subject, arguments, Poison())
        except Exception:
            return dict.fromkeys(firsts, "is an error when it is called again")
        found: dict[str, str] = {}
        for path, first in firsts.items():
            second = seconds.get(path)
            apart = error(second, first) if second is not None and second.shape == first.shape else None
            # The interpreter adds up in one order; what atomics add up on a GPU comes in any.
            limit = 0.0 if self.interpreted else sane(str(first.dtype).removeprefix("torch."))
            if second is not None and first.numel() and second.data_ptr() == first.data_ptr():
                found[path] = "is overwritten by the next call"
            elif apart is None or apart["wrong_nonfinite"] or apart["error"] > limit:
                found[path] = "is another one when it is called again"
        return found

    def _called(self, subject: Any, arguments: list[Any], poison: Any) -> dict[str, Any]:
        from kernlint.verify.child import subjects

        given = subjects.placed(arguments, self.device)
        subjects.seed()
        with poison:
            returned = subject.call(*given)
        if not self.interpreted:
            import torch

            torch.cuda.synchronize()
        return _results(returned, given)

    def _time(self, subject: Mapping[str, Any], arguments: list[Any]) -> None:
        from kernlint.verify.child import subjects
        from kernlint.verify.child.timing import compare

        # Each has arguments of its own: a call may write to them.
        given = {version: subjects.placed(arguments, self.device) for version in subject}
        calls = [partial(_call, subject[version].call, given[version]) for version in subject]
        with _turn(self.job.get("gate")):
            try:
                found = compare(calls, self.job["timing_s"])
            except BaseException as error:
                self.reporter.event("timing", case=self.case["name"], error=describe(error))
            else:
                self.reporter.event("timing", case=self.case["name"], versions=list(subject), **found)


def _call(function: Any, arguments: list[Any]) -> Any:
    return function(*arguments)


@contextmanager
def _turn(gate: str | None) -> Iterator[None]:
    """Wait until the parent gives the device to this process alone: it says that it is ready by a file ``gate.ready``, waits
    for ``gate.go`` and leaves ``gate.done``. Without a gate there is nobody to wait for."""
    if gate is None:
        yield
        return
    Path(f"{gate}.ready").touch()
    while not Path(f"{gate}.go").exists():
        time.sleep(0.02)
    try:
        yield
    finally:
        Path(f"{gate}.done").touch()


def _doubled(reference: Any) -> Any:
    """The reference with its parameters in float64, as a copy."""
    import copy

    from kernlint.verify.child import subjects

    if reference.state is None:
        return reference
    state = copy.deepcopy(reference.state).double()
    return subjects.Subject(getattr(state, reference.call.__name__), state)


class _Reference:
    """The reference (None: there is none that runs in float64) as it answers when its numbers are rounded on the way."""

    def __init__(self, reference: Any, arguments: list[Any], device: str, interpreted: bool) -> None:
        self.reference, self.arguments, self.device, self.interpreted = reference, arguments, device, interpreted
        self._known: dict[tuple[str | None, str | None], tuple[dict[str, Any] | None, int, int]] = {}

    def noise(self, formats: Mapping[str, str | None]) -> Any:
        """What float32 and ``formats`` (of ``operands`` of contractions, of other ``results``, and of ``sums``) do to the
        results."""
        from kernlint.verify.child.noise import Noise

        operands, results, sums = (formats.get(kind) for kind in ("operands", "results", "sums"))
        fine, depth, contracted = self._run("float32", None)
        coarse = None if operands is None and results is None else self._run(results, operands)[0]
        return Noise(fine, coarse, depth, sums or "float32", operands, results, 0 if self.interpreted else contracted)

    def _run(self, results: str | None, operands: str | None) -> tuple[dict[str, Any] | None, int, int]:
        key = results, operands
        if key not in self._known:
            self._known[key] = self._rounded(results, operands)
        return self._known[key]

    def _rounded(self, results: str | None, operands: str | None) -> tuple[dict[str, Any] | None, int, int]:
        """The results, and the terms of the longest sum and contraction; no results where it cannot be run so."""
        from kernlint.verify.child import subjects
        from kernlint.verify.child.metrics import tensors
        from kernlint.verify.child.modes import precise
        from kernlint.verify.child.noise import Rounding

        longest = max((extent for _, tensor in tensors(self.arguments) for extent in tensor.shape), default=1)
        if self.reference is None:
            return None, longest, longest
        try:
            for products in (False, True):
                mode = Rounding(results, operands, products)
                own = _doubled(self.reference)
                with precise():
                    given = subjects.widened(subjects.placed(self.arguments, self.device))
                    subjects.seed()
                    with mode:
                        found = _results(own.call(*given), given)
                if operands is None or mode.contracted:
                    break
        except Exception:
            return None, longest, longest
        return found, max(mode.depth, 1), mode.contracted


def _truth(call: Any, given: list[Any]) -> dict[str, Any]:
    """The results of the reference, and those of its arguments that it writes to: a version may write to others too, which
    says nothing about what belongs there."""
    import torch

    from kernlint.verify.child import subjects
    from kernlint.verify.child.metrics import tensors

    untouched = dict(tensors(subjects.widened(given)))
    subjects.seed()
    found = _results(call(*given), given)
    for path, value in untouched.items():
        name = f"argument {path}"
        if torch.equal(found[name].to(value.dtype), value):
            del found[name]
    return found


def _results(returned: Any, given: list[Any]) -> dict[str, Any]:
    """What a call leaves: its result, and its tensor arguments, which it may have written to."""
    from kernlint.verify.child.metrics import tensors

    found = {f"result{path}": tensor for path, tensor in tensors(returned)}
    return found | {f"argument {path}": tensor for path, tensor in tensors(given)}


def _compared(
    outcomes: Mapping[str, Any], truth: Mapping[str, Any] | None, rounding: _Reference, formats: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """One entry for each output: the errors of all versions against the truth, or else the version before, in terms of what
    rounding explains; and against each other.

    A change of precision is granted its ``formats``; others, and what it shares with the version before, show in the errors of
    that version, unless these tell nothing.
    """
    from kernlint.verify.child.metrics import error, moved
    from kernlint.verify.judge import sane

    paths = dict.fromkeys(path for outcome in outcomes.values() for path in outcome["results"])
    if truth is not None:
        paths |= dict.fromkeys(truth)
    rows: list[dict[str, Any]] = []
    for path in paths:
        row: dict[str, Any] = {"path": path}
        exact = None if truth is None else truth.get(path)
        results = {version: outcome["results"].get(path) for version, outcome in outcomes.items()}
        own = exact is None and path.startswith("argument")
        row["against"] = "before" if truth is None or own else "reference"
        for version, result in results.items():
            if result is None or (truth is not None and exact is None and not own):
                row[version] = {"missing": result is None, "unexpected": result is not None}
                continue
            row[version] = {
                "dtype": str(result.dtype).removeprefix("torch."),
                "shape": list(result.shape),
                "unwritten": outcomes[version]["unwritten"].get(path, 0),
                "unsteady": outcomes[version]["unsteady"].get(path, ""),
            }
            if exact is not None:
                row[version]["expected_shape"] = list(exact.shape)
                if result.shape == exact.shape:
                    row[version] |= error(result, exact)
        before, after = results.get("before"), results.get("after")
        if before is not None and after is not None and before.shape == after.shape:
            row["difference"] = error(after, before)
            same_shape = exact is not None and exact.shape == after.shape
            row["moved"] = moved(after, before, exact if same_shape else None)
        rows.append(row)
    trusted = all(
        "error" in row.get("before", {})
        and not row["before"]["wrong_nonfinite"]
        and row["before"]["error"] <= sane(row["before"]["dtype"])
        for row in rows
        if row["against"] == "reference"
    )
    trusted = trusted and "before" in outcomes
    for row in rows:
        results = {version: outcome["results"].get(row["path"]) for version, outcome in outcomes.items()}
        _measured(row, results, truth, rounding, formats, trusted)
    return rows


def _measured(
    row: dict[str, Any],
    results: Mapping[str, Any],
    truth: Mapping[str, Any] | None,
    rounding: _Reference,
    formats: Mapping[str, Any],
    trusted: bool,
) -> None:
    """Put the statistics of floating-point ``results`` into their ``row``; ``trusted`` says that those of the version before
    are a measure."""
    from kernlint.verify.child.metrics import statistics
    from kernlint.verify.child.noise import unit_of
    from kernlint.verify.judge import unexplained

    path, against_before = row["path"], row["against"] == "before"
    granted, usual = formats.get("after", {}), formats.get("before", {})
    exact: Any = results.get("before") if against_before else (truth or {}).get(path)
    if exact is None or (against_before and row.get("moved", {}).get("count") == 0):
        return  # most arguments are what they were
    target = exact.double()
    noise = rounding.noise(granted)
    if against_before:
        # What the reference does says nothing of what it does not answer.
        noise = replace(noise, fine=None, coarse=None)
    measure = results.get("before") if trusted and not against_before else None
    if measure is not None and _comparable(measure, target):
        found = statistics(measure, target, unit_of(path, measure.dtype, target, rounding.noise({})))
        if unexplained(found) and any(usual.values()):
            found = statistics(measure, target, unit_of(path, measure.dtype, target, rounding.noise(usual)))
        # A wrong factor is no measure of what rounding does.
        row["before"]["scaled"] = unexplained(found)
        measure = None if row["before"]["scaled"] else measure
    for version, result in results.items():
        if result is None or not _comparable(result, target) or (against_before and version == "before"):
            continue
        # The version before has rounded as well.
        roundings = 2 if against_before else 1
        unit = unit_of(path, result.dtype, target, noise, roundings, measure)
        row[version] |= statistics(result, target, unit)


def _comparable(result: Any, target: Any) -> bool:
    return bool(result.dtype.is_floating_point) and result.shape == target.shape
