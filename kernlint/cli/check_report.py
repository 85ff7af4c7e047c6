"""What `kernlint check` prints, and where."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

import click

from kernlint.cli.streams import encodable, look_of

if TYPE_CHECKING:
    from kernlint.lint.config import Configurations
    from kernlint.lint.run import Outcome
    from kernlint.lint.settings import Settings
    from kernlint.report.lint_report import LintReport


FOR_PEOPLE = frozenset({"text", "concise"})


def report_of(outcome: Outcome) -> LintReport:
    from kernlint.lint.diff import repository_root
    from kernlint.report.lint_report import LintReport

    here = os.getcwd()
    return LintReport(outcome.findings, len(outcome.files), repository_root(here) or here, undecided=outcome.undecided)


def print_report(
    report: LintReport, output_format: str, output_file: str | None, stream: TextIO, statistics: bool
) -> None:
    text = _renderer(output_format, statistics, stream if output_file is None else None)(report)
    if output_file is None and output_format in FOR_PEOPLE:
        stream.write(encodable(text, stream))
        stream.flush()
    elif output_file is None:
        # Programs read UTF-8, whatever the terminal's encoding.
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        stream.buffer.flush()
    else:
        from kernlint.write import write_output

        write_output(output_file, text.encode("utf-8", "backslashreplace"))


def _renderer(output_format: str, statistics: bool, stream: TextIO | None) -> Callable[[LintReport], str]:
    from importlib import import_module

    if statistics:
        from kernlint.report.statistics import render as counted

        return lambda report: counted(report, output_format)
    if output_format == "text":
        from kernlint.report.look import PLAIN
        from kernlint.report.text_findings import render

        look = PLAIN if stream is None else look_of(stream)
        return lambda report: render(report, look)
    module, function = {
        "json": ("findings_json", "render"),
        "json-lines": ("findings_json", "render_lines"),
    }.get(output_format, (output_format, "render"))
    renderer: Callable[[LintReport], str] = getattr(import_module(f"kernlint.report.{module}"), function)
    return renderer


def tell_of_run(outcome: Outcome, settings: Settings) -> None:
    """What is not about a finding goes to standard error."""
    for entry in outcome.stale:
        place = encodable(f"{entry.file}: {entry.code} {entry.message}", sys.stderr)
        click.echo(f"kernlint: baseline {settings.baseline}: no longer found: {place}", err=True)
    if outcome.stale:
        click.echo("kernlint: --update-baseline removes such entries", err=True)
    if not outcome.files:
        click.echo("kernlint: no Python files, notebooks or Markdown to check here", err=True)


def print_settings(configurations: Configurations, path: str | None) -> None:
    import json

    absolute = os.path.abspath(path or ".")
    folder = absolute if os.path.isdir(absolute) else os.path.dirname(absolute)
    click.echo(json.dumps(configurations.of(folder).to_json(), indent=2))
