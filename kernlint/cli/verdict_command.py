"""``kernlint PATH``: the verdict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.syntax.source import SourceText
    from kernlint.verdict.model import Verdict

_DEFAULT_DEVICE = "h100-sxm"


@click.command()
@click.argument("path", required=False)
@click.option("--reference", metavar="FILE", help="Python file with the PyTorch reference (Model, get_inputs).")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Override a module-level constant.")
@click.option(
    "--assume",
    "assumptions",
    metavar="FACT",
    multiple=True,
    help="A fact about an argument: [FUNC.]NAME:dtype[dims] or NAME=INT, such as x:int8[128,2048].",
)
@click.option("--device", metavar="NAME", default=_DEFAULT_DEVICE, show_default=True, help="GPU, or `list` for all.")
@click.option(
    "--scope",
    type=click.Choice(["gpu", "call"]),
    default="gpu",
    show_default=True,
    help="Which time the answer is about: device time, or wall time per call.",
)
@click.option("--entry", metavar="NAME", help="Function to analyse; else ModelNew.forward, else each launching one.")
@click.option("--details/--no-details", default=True, help="With or without what the answer rests on.  [default: with]")
def verdict(
    path: str | None,
    reference: str | None,
    settings: tuple[str, ...],
    assumptions: tuple[str, ...],
    device: str,
    scope: str,
    entry: str | None,
    details: bool,
) -> None:
    """Say whether a Triton kernel is worth optimizing, how, and by how much.

    PATH is a Python file with the kernel and its launcher, a Markdown task file, or - for standard input. Nothing of
    it is run. The verdict is one JSON object on standard output; status 0 for any verdict, 2 when there is none.
    """
    if device == "list":
        from kernlint.cli.devices_table import render

        click.echo(render(), nl=False)
        return
    if path is None:
        raise click.UsageError("a PATH is missing; `kernlint --help` shows what can be given")
    if path == reference == "-":
        raise UsageError("kernel and reference cannot both come from standard input")
    options: dict[str, Any] = {
        "device": _device_id(device),
        "scope": scope,
        "entry": entry,
        "overrides": _overrides(settings),
        "assumptions": list(assumptions),
    }
    _answer(path, reference, options, details)


def _overrides(settings: tuple[str, ...]) -> dict[str, Any]:
    from kernlint.cli.settings import parse_overrides

    return dict(parse_overrides(settings))


def _device_id(name: str) -> str:
    from kernlint.cost.device import UnknownDevice, find_device

    try:
        return find_device(name).id
    except UnknownDevice as error:
        raise UsageError(f"{error}; `kernlint --device list` shows all") from None


def _answer(path: str, reference: str | None, options: dict[str, Any], details: bool) -> None:
    from kernlint.cli import worker
    from kernlint.report import json_
    from kernlint.syntax.source import read_source

    source = read_source(path)
    reference_source = None if reference is None else read_source(reference)
    result = worker.run_in_worker(
        _analyze, {"source": source, "reference": reference_source, "options": options}, worker.TIMEOUT_S
    )
    sys.stdout.write(json_.render(result, details))
    sys.stdout.flush()
    if sys.stderr.isatty():
        _show_findings(result, [source] if reference_source is None else [source, reference_source])


def _analyze(source: SourceText, reference: SourceText | None, options: dict[str, Any]) -> Verdict:
    from kernlint.analysis import analyze

    if reference is not None:
        options = {**options, "reference": reference.text, "reference_path": reference.path}
    return analyze(source.text, path=source.path, **options)


def _show_findings(result: Verdict, sources: list[SourceText]) -> None:
    from rich.console import Console

    from kernlint.report.text import print_verdict
    from kernlint.syntax.source import split_lines

    lines = {source.path: split_lines(source.text) for source in sources}
    print_verdict(result, lines, Console(stderr=True, highlight=False))
