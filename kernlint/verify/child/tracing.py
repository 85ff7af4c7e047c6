"""Calls a program on fake tensors and reports what it does: tensors, torch operations, launches, waits."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from kernlint.verify.child.confine import confine
from kernlint.verify.child.reporter import Reporter, describe


def main(job: Mapping[str, Any], results: str) -> None:
    """``files`` of the job are the sources, ``labels`` what they are called in the report, ``entry`` what to call of the kernel's
    (empty: what there is), ``device`` what the program sees of the device."""
    reporter = Reporter(results)
    sys.path[:0] = job.get("search", [])
    import torch  # noqa: F401 - before the walls go up: libraries may set up what they need

    from kernlint.verify.child.fakes import faked, pretend
    from kernlint.verify.child.launching import intercept
    from kernlint.verify.child.recorder import Recorder

    paths = {os.path.abspath(path): job["labels"][version] for version, path in job["files"].items()}
    recorder = Recorder(paths, tuple(job.get("search", ())))
    pretend(job["device"], recorder)
    confine(os.getcwd())
    try:
        with faked(recorder) as below:
            intercept(recorder, below, job["device"])
            _Session(job, reporter, recorder).run()
    except BaseException as error:
        reporter.event("failed", step="trace", error=_described(error, recorder))
    reporter.event("end")


class NoInputs(Exception):
    """Nothing says what the code is to be called with."""


class _Session:
    def __init__(self, job: Mapping[str, Any], reporter: Reporter, recorder: Any) -> None:
        self.job, self.reporter, self.recorder = job, reporter, recorder
        self.modules: dict[str, ModuleType] = {}

    def run(self) -> None:
        for version in ("reference", "kernel"):
            if version in self.job["files"] and not self._try(version, "load", partial(self._load, version)):
                return
        kernel, reference = self.modules["kernel"], self.modules.get("reference")
        entry = self.job.get("entry") or self._entry(kernel)
        if not entry:
            self.reporter.event("failed", step="kernel", error={"type": "NoInputs", "text": "no function says what to call "
                                "it with (give --entry, and --reference or --assume for its arguments)"})  # fmt: skip
            return
        self._try("kernel", "call", lambda: self._trace("kernel", kernel, entry))
        model = reference or (kernel if entry != "Model.forward" else None)
        if model is not None and callable(getattr(model, "Model", None)) and self._maker("get_inputs"):
            self._try("reference", "call", lambda: self._trace("reference", model, "Model.forward"))

    def _try(self, version: str, what: str, action: Callable[[], Any]) -> bool:
        self.reporter.event("begin", step=version, what=what)
        try:
            action()
        except BaseException as error:
            self.reporter.event("failed", step=version, what=what, error=_described(error, self.recorder))
            return False
        return True

    def _load(self, version: str) -> None:
        from kernlint.verify.child.loading import load

        job = self.job
        path = os.path.abspath(job["files"][version])
        self.modules[version] = load(path, f"kernlint_{version}", job["overrides"], job.get("package", ""))

    def _maker(self, name: str) -> Callable[..., Any] | None:
        for version in ("reference", "kernel"):
            found = getattr(self.modules.get(version), name, None)
            if callable(found):
                return found
        return None

    def _entry(self, module: ModuleType) -> str:
        """What to call where nobody says."""
        inputs = self._maker("get_inputs")
        for name in ("ModelNew", "Model"):
            kind = getattr(module, name, None)
            if callable(kind) and callable(getattr(kind, "forward", None)) and inputs is not None:
                return f"{name}.forward"
        own = [
            (name, value) for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
            and name not in ("get_inputs", "get_init_inputs")
        ]  # fmt: skip
        given = {*self.job.get("tensors", {}), *self.job.get("values", {})}
        known = [
            name for name, value in own
            if all(p.default is not p.empty or p.name in given for p in inspect.signature(value).parameters.values())
            and given & set(inspect.signature(value).parameters)
        ]  # fmt: skip
        if known:
            return known[-1]
        if inputs is not None and self.job.get("candidates"):
            return next((name for name in self.job["candidates"] if callable(getattr(module, name, None))), "")
        return ""

    def _trace(self, version: str, module: ModuleType, entry: str) -> None:
        recorder = self.recorder
        best: Any = None
        failed: Exception | None = None
        # Conditions on values that nobody knows hold, and then do not: the way that launches more is the one that is told.
        for holds in (True, False):
            recorder.holds, recorder.decided = holds, False
            try:
                state, call, args, calls = self._calls(module, entry)
            except Exception as error:
                failed = error
            else:
                launches = sum(step["kind"] == "launch" for step in calls[-1][0])
                if best is None or launches > best[0]:
                    best = launches, state, call, args, calls
            if not recorder.decided:
                break
        if best is None:
            assert failed is not None
            raise failed
        _, state, call, args, calls = best
        names = [p.name for p in inspect.signature(call).parameters.values() if p.kind is not p.VAR_POSITIONAL]
        for number, (steps, unknown, assumed, result) in enumerate(calls):
            self.reporter.event(
                "call", version=version, entry=entry, number=number, steps=steps, unknown=unknown, assumed=assumed,
                inputs=[[names[i] if i < len(names) else f"argument {i}", recorder.value(value)]
                        for i, value in enumerate(args)],
                outputs=[recorder.value(result)],
            )  # fmt: skip
        self.reporter.event(
            "tables", version=version, tensors=recorder.tensors, places=recorder.places, stacks=recorder.stacks,
            hosted=sorted(recorder.hosted), parameters=_state(state, recorder),
        )  # fmt: skip

    def _calls(self, module: ModuleType, entry: str) -> tuple[Any, Callable[..., Any], list[Any], list[Any]]:
        """Two calls of the entry: what they do, and what they come to."""
        recorder = self.recorder
        owner, _, method = entry.rpartition(".")
        state: Any = self._built(getattr(module, owner)) if owner else None
        call = getattr(state if owner else module, method)
        args = self._arguments(call)
        calls = []
        for _ in range(2):
            with recorder.recording():
                result = state(*args) if method == "forward" and _is_module(state) else call(*args)
                calls.append((recorder.steps, list(recorder.unknown), list(recorder.assumed), result))
        return state, call, args, calls

    def _built(self, kind: Any) -> Any:
        from kernlint.verify.child.subjects import seed

        maker = self._maker("get_init_inputs")
        given = maker() if maker is not None else []
        positional, named = (given if isinstance(given, (list, tuple)) else [given]), {}
        if len(positional) == 2 and isinstance(positional[0], (list, tuple)) and isinstance(positional[1], dict):
            positional, named = positional
        seed()
        made = kind(*positional, **named)
        if _is_module(made):
            made.requires_grad_(False)
        return made

    def _arguments(self, call: Callable[..., Any]) -> list[Any]:
        from kernlint.verify.child.subjects import seed

        seed()
        job = self.job
        tensors, values = job.get("tensors", {}), job.get("values", {})
        maker = self._maker("get_inputs")
        made = list(maker()) if maker is not None else []
        args: list[Any] = []
        parameters = list(inspect.signature(call).parameters.values())
        for index, parameter in enumerate(parameters):
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
                break
            if parameter.kind is parameter.VAR_POSITIONAL:
                args += made[index:]
                break
            if parameter.name in values:
                args.append(values[parameter.name])
            elif parameter.name in tensors:
                args.append(_tensor(tensors[parameter.name]))
            elif index < len(made):
                args.append(made[index])
            elif parameter.default is not parameter.empty:
                args.append(parameter.default)
            else:
                raise NoInputs(
                    f"nothing says what to pass as {parameter.name} (give --reference, or --assume "
                    f"{parameter.name}:dtype[dims])"
                )
        return args


def _is_module(value: Any) -> bool:
    import torch

    return isinstance(value, torch.nn.Module)


def _state(state: Any, recorder: Any) -> list[list[Any]]:
    """The tensors that a model holds, by name."""
    if not _is_module(state):
        return []
    return [[name, recorder.value(value)] for name, value in (*state.named_parameters(), *state.named_buffers())]


def _tensor(spec: Mapping[str, Any]) -> Any:
    import torch

    dtype = getattr(torch, spec["dtype"])
    if spec.get("strides"):
        return torch.empty_strided(spec["shape"], spec["strides"], dtype=dtype)
    return torch.empty(spec["shape"], dtype=dtype)


def _described(error: BaseException, recorder: Any) -> dict[str, str]:
    """The error in one line, with the innermost place in the program's own code."""
    found = describe(error)
    trace, place = error.__traceback__, ""
    while trace is not None:
        label = recorder.file_of(trace.tb_frame.f_code)
        if label is not None:
            place = f"line {trace.tb_lineno}, in {trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    return {**found, "place": place}
