"""A calibration from the first launch to the device file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import libcst as cst

from kernlint.calibrate import factors as fitting
from kernlint.calibrate.cases import Buffer, Case, cases
from kernlint.calibrate.reading import read_launch
from kernlint.cost.device import Device, UnknownDevice, devices, find_device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dot_lowering import fed_class
from kernlint.records import dataclass
from kernlint.workload import Launch

KERNELS = Path(__file__).parent / "kernels.py"
#: Raised when a device file of another form is no longer read.
FORMAT = 1


class CannotCalibrateError(Exception):
    """There is no GPU, no torch or Triton, or too little could be timed."""


@dataclass(frozen=True)
class Calibration:
    """What a run found: the card, the device that it started from, factors, residuals, and how far off it was before and after."""

    base: Device
    name: str
    overrides: Mapping[str, Any]
    factors: Mapping[str, float]
    residuals: Mapping[str, float]
    before: Mapping[str, float]
    after: Mapping[str, float]
    failed: Sequence[str]
    source: str

    def to_json(self) -> dict[str, Any]:
        """The device file."""
        return {
            "kernlint_device": FORMAT,
            "base": self.base.id,
            "name": self.name,
            **self.overrides,
            "factors": dict(self.factors),
            "residuals": dict(self.residuals),
            "source_factors": self.source,
            "fit": {"before": dict(self.before), "after": dict(self.after), "failed": list(self.failed)},
        }


def run(base: str | None, seconds: float, say: Callable[[str], None]) -> Calibration:
    """Times the micro-benchmarks for ``seconds`` at most and fits the factors of this card, beginning with the device ``base`` (None:
    the one that the card's name says, or the nearest of its architecture)."""
    try:
        import torch
        import triton
    except ImportError as error:
        raise CannotCalibrateError(f"calibrate needs {error.name}: pip install 'kernlint[calibrate]'") from None
    if not torch.cuda.is_available():
        raise CannotCalibrateError("no GPU: torch.cuda.is_available() is False")
    from kernlint.calibrate.timing import Timer

    properties = torch.cuda.get_device_properties(0)
    try:
        start = nearest(properties.name, (properties.major, properties.minor)) if base is None else find_device(base)
    except UnknownDevice as error:
        raise CannotCalibrateError(str(error)) from None
    say(f"{properties.name}, starting from {start.id}; torch {torch.__version__}, triton {triton.__version__}")
    timer, deadline = Timer(), time.monotonic() + seconds
    timed: list[tuple[Case, float]] = []
    failed: list[str] = []
    for case in cases():
        if time.monotonic() > deadline:
            say(f"stopped after {seconds:.0f} s")
            break
        try:
            timed.append((case, timer.us(case)))
        except Exception as error:  # what does not compile on this card is left out, and said
            failed.append(f"{case.label}: {type(error).__name__}: {str(error)[:120]}")
    say(f"{len(timed)} launches timed, {len(failed)} failed")
    overrides = overrides_of(properties, start)
    source = f"kernlint calibrate, torch {torch.__version__}, triton {triton.__version__}"
    return fitted(timed, start, properties.name, overrides, failed, source)


def fitted(
    timed: Sequence[tuple[Case, float]],
    start: Device,
    name: str,
    overrides: Mapping[str, Any],
    failed: Sequence[str] = (),
    source: str = "",
) -> Calibration:
    """The calibration that times of launches make."""
    sheet = replace(start, **{**overrides, "factors": {}, "residuals": {}})
    rows = [row_of(launch_of(case), sheet, us) for case, us in timed]
    if len(rows) < 3 * len(fitting.TERMS):
        raise CannotCalibrateError(f"only {len(rows)} launches could be timed")
    found = fitting.fit(rows)
    return Calibration(
        start, name, overrides, found, fitting.residuals(rows, found), fitting.summary(rows, {}),
        fitting.summary(rows, found), failed, source,
    )  # fmt: skip


def row_of(launch: Launch, device: Device, us: float) -> fitting.Row:
    """A measured launch as the fit sees it: the terms that ``device``, which has no factors, gives it."""
    priced = kernel_time(launch, device)
    loop = dot_loop(launch) if launch.kernel.dots() else None
    if loop is not None:
        step = max(loop.steps, key=lambda step: step.m * step.n * step.k)
        return fitting.Row({f"dot_{fed_class(step.a, step.precision)}": priced.us}, 1.0, us, priced.kind)
    return fitting.Row(priced.terms, priced.norm, us, priced.kind)


def launch_of(case: Case) -> Launch:
    """The launch of ``case`` as the analysis reads it from the source."""
    names = parameters(case.kernel)
    values = iter(case.arguments)
    given: dict[str, Any] = {}
    for name in names:
        value = case.constants[name] if name in case.constants else next(values)
        given[name] = value.tensor() if isinstance(value, Buffer) else value
    return read_launch(str(KERNELS), case.kernel, given, case.grid, case.num_warps, case.num_stages)


@lru_cache(maxsize=64)
def parameters(kernel: str) -> tuple[str, ...]:
    """The parameters of a kernel of ``kernels.py``, by its source: Triton need not be there."""
    tree = cst.parse_module(KERNELS.read_text(encoding="utf-8"))
    for statement in tree.body:
        if isinstance(statement, cst.FunctionDef) and statement.name.value == kernel:
            return tuple(parameter.name.value for parameter in statement.params.params)
    raise KeyError(kernel)


def nearest(name: str, capability: tuple[int, int]) -> Device:
    """The device that a card's ``name`` says, or the one of the nearest architecture."""
    try:
        return find_device(name)
    except UnknownDevice:
        known = [(device, device.sm) for device in devices() if device.sm is not None]
        return min(known, key=lambda each: abs(each[1][0] * 10 + each[1][1] - capability[0] * 10 - capability[1]))[0]


def overrides_of(properties: Any, base: Device) -> dict[str, Any]:
    """What the driver says of the card, in place of what ``base`` has; peaks follow the SMs and the clock."""
    found: dict[str, Any] = {}
    said = {
        "sm_count": getattr(properties, "multi_processor_count", None),
        "l2_cache_mb": _share(getattr(properties, "L2_cache_size", None), 2**20),
        "memory_gb": _share(getattr(properties, "total_memory", None), 2**30),
        "shared_memory_bytes_per_sm": getattr(properties, "shared_memory_per_multiprocessor", None),
        "shared_memory_max_bytes_per_block": getattr(properties, "shared_memory_per_block_optin", None),
        "boost_clock_mhz": _share(getattr(properties, "clock_rate", None), 1000),
    }
    for name, value in said.items():
        if value and value != getattr(base, name):
            found[name] = value
    lanes = found.get("sm_count", base.sm_count) * found.get("boost_clock_mhz", base.boost_clock_mhz)
    ratio = lanes / (base.sm_count * base.boost_clock_mhz)
    if abs(ratio - 1) > 0.02:
        for field in fields(Device):
            peak = getattr(base, field.name)
            if field.name.startswith("peak_") and peak:
                found[field.name] = round(peak * ratio, 1)
        if "boost_clock_mhz" in found:
            found["tensor_clock_mhz"] = base.tensor_clock_mhz * found["boost_clock_mhz"] / base.boost_clock_mhz
    return found


def _share(value: float | None, unit: float) -> float | None:
    return None if not value else round(value / unit, 1)
