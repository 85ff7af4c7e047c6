"""``kernlint PATH``: the verdict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kernlint.cli.options import list_devices, read_task_input, task_options, trace_option
from kernlint.cli.streams import encodable, look_of
from kernlint.records import replace

if TYPE_CHECKING:
    from kernlint.request import Request
    from kernlint.syntax.source import SourceText
    from kernlint.verdict.model import Verdict


@click.command()
@task_options
@trace_option
@click.option(
    "--details/--no-details",
    default=None,
    help="With or without the evidence for the answer.  [default: with; without on a terminal]",
)
def verdict(device: str | None, settings: tuple[str, ...], details: bool | None, trace: bool, **given: Any) -> None:
    """Say whether a Triton kernel is worth optimizing, how, and by how much.

    PATH is a Python file with the kernel and its launcher, a Markdown task file, or - for standard input. Nothing in
    it is run, except with --trace. The verdict is one JSON object on standard output; on a terminal the findings follow in words on
    standard error (2>/dev/null hides them). Status 0: there is a verdict; 2: there is none.
    """
    if list_devices(device):
        return
    from kernlint.cli import worker
    from kernlint.cli.settings import parse_overrides
    from kernlint.report import json_

    overrides = parse_overrides(settings)
    task = read_task_input(device=device, **given)
    request = replace(task.request, overrides=overrides, project=task.project)
    if trace:
        from kernlint.cli.tracing import traced

        request = traced(request)
    result = worker.run_on_task(_answer, request)
    sys.stdout.write(json_.render(result, not sys.stdout.isatty() if details is None else details))
    sys.stdout.flush()
    if sys.stderr.isatty():
        sys.stderr.write(encodable(_findings(result, task.sources), sys.stderr))


def _answer(request: Request) -> Verdict:
    from kernlint.analysis import answer

    return answer(request)


def _findings(result: Verdict, sources: list[SourceText]) -> str:
    """What of the verdict is for a person, who sees it below the JSON."""
    from kernlint.report.text import render_verdict
    from kernlint.syntax.source import split_lines

    lines = {source.path: split_lines(source.text) for source in sources}
    return render_verdict(result, lines, look_of(sys.stderr))
