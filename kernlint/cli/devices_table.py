"""The table of ``kernlint devices`` and ``--device list``: every device, what each figure is from, and short names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from kernlint.cli.streams import look_of
from kernlint.cost.device import ALIASES, Device, devices
from kernlint.report.grid import Grid, paint
from kernlint.report.look import PLAIN, Look

_HEAD = ("device", "name", "arch", "SMs", "GB/s", "fp16", "int8", "fp8", "basis")
_NUMBERS = frozenset(_HEAD[3:8])
#: What goes first on a narrow terminal: cut short, a name says less than the id.
_DISPENSABLE = ("name", "arch", "SMs")


def render(sources: bool = False, look: Look = PLAIN) -> str:
    """All devices as a table: peaks are dense, 10^12 operations per second, fp32 (or int32) accumulate. ``sources`` adds what the
    figures of each are from."""
    columns = list(_HEAD)
    for left_out in _DISPENSABLE:
        if look.width is None or _grid(columns).width() <= look.width:
            break
        columns.remove(left_out)
    lines = paint(_grid(columns), look)
    notes = [
        "",
        "fp16, int8, fp8: dense tensor-core peak, 10^12 operations per second.",
        "basis: whether times were measured on this device, or how the cost model's constants are scaled to it.",
        "also: " + ", ".join(f"{alias} is {key}" for alias, key in ALIASES.items()) + ".",
        "A device file of `kernlint calibrate` goes in place of a name: --device FILE.json",
    ]
    if sources:
        for device in devices():
            notes += ["", *_sources(device)]
    said = [line for note in notes for line in (look.wrapped(note, "", "  ") if note else [""])]
    return "\n".join([*lines, *said]) + "\n"


def _grid(columns: Sequence[str]) -> Grid:
    """The table with these of the columns."""
    places = [_HEAD.index(name) for name in columns]
    rows = tuple(tuple(row[place] for place in places) for row in map(_row, devices()))
    numeric = frozenset(place for place, name in enumerate(columns) if name in _NUMBERS)
    return Grid(tuple(columns), rows, numeric, whole=frozenset({0}))


def to_json() -> list[dict[str, Any]]:
    """The same as data."""
    return [
        {
            "id": device.id,
            "name": device.name,
            "architecture": device.architecture,
            "basis": _basis(device),
            "aliases": [alias for alias, key in ALIASES.items() if key == device.id],
            "confidence": device.confidence,
            "sources": dict(_said(device)),
            "residuals": dict(device.residuals),
        }
        for device in devices()
    ]


def _said(device: Device) -> list[tuple[str, str]]:
    said = [
        ("peaks", device.source_peaks),
        ("memory", device.source_memory),
        ("limits", device.source_limits),
        ("measured", device.source_measured),
        ("factors", device.source_factors),
        ("notes", device.notes),
    ]
    return [(name, text) for name, text in said if text]


def _sources(device: Device) -> list[str]:
    lines = [f"{device.id} (confidence {device.confidence or 'not said'})"]
    lines += [f"  {name}: {text}" for name, text in _said(device)]
    if device.residuals:
        table = ", ".join(f"{kind} {sigma:g}" for kind, sigma in device.residuals.items())
        lines.append(f"  residual, standard deviation of ln(measured / predicted): {table}")
    return lines


def _basis(device: Device) -> str:
    return "measured" if device.measured else f"scaled ({device.kinship})"


def _row(device: Device) -> tuple[str, ...]:
    peaks = (
        device.peak_fp16_tensor_dense_fp32acc_tflops,
        device.peak_int8_tensor_dense_tops,
        device.peak_fp8_tensor_dense_fp32acc_tflops,
    )
    return (
        device.id,
        device.name,
        device.architecture,
        str(device.sm_count),
        f"{device.memory_bandwidth_gb_per_s:.0f}",
        *("-" if peak is None else f"{peak:.0f}" for peak in peaks),
        _basis(device),
    )


@click.command("devices")
@click.option("--sources", is_flag=True, help="Say where the figures of each device come from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def devices_command(sources: bool, as_json: bool) -> None:
    """List the GPUs that are known."""
    if as_json:
        import json

        click.echo(json.dumps(to_json(), indent=2))
        return
    click.echo(render(sources, look_of(sys.stdout)), nl=False)
