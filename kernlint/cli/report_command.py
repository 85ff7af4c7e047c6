"""``kernlint report PATHS -o FILE``: one page about all programs of a repository."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from kernlint.cli.options import (
    DEFAULT_DEVICE,
    config_option,
    device_option,
    exclude_option,
    isolated_option,
    jobs_option,
    list_devices,
    scope_option,
    timeout_option,
)
from kernlint.errors import UsageError

_STDOUT = "-"


@click.command()
@click.argument("paths", metavar="[PATH]...", type=click.Path(), nargs=-1)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(), help="Where to write the page; - for standard output."
)
@device_option(f"GPU that times are predicted for; `list` shows all.  [default: as configured, else {DEFAULT_DEVICE}]")
@scope_option("the page is")
@click.option(
    "--reference",
    metavar="FILE",
    type=click.Path(),
    help="PyTorch reference of the files that have none in the configuration.",
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    metavar="NUMBER",
    help="How many programs to show in full.",
)
@exclude_option
@config_option
@isolated_option
@jobs_option
@timeout_option(180, "one file")
def report(
    paths: tuple[str, ...],
    output: str | None,
    device: str | None,
    scope: str | None,
    reference: str | None,
    top: int,
    exclude: tuple[str, ...],
    config: str | None,
    isolated: bool,
    jobs: int | None,
    timeout: float,
) -> None:
    """Write an HTML page about all programs.

    It shows each program below PATHS that launches a kernel, those with most to gain first: where its time is predicted to go, how
    fast it could be, a roofline, the time budget before and after the best change, the source with marked lines, and the change as a
    patch. The page needs no other file and no network. PATHS are as for `kernlint check`; nothing in them is run. Status 0: the page
    is written; 2: wrong usage.
    """
    if list_devices(device):
        return
    from kernlint.cli.options import device_id
    from kernlint.cli.progress import Progress
    from kernlint.crew import processors
    from kernlint.lint.config import Configurations, Overrides
    from kernlint.report.page.collect import collect
    from kernlint.report.page.html import Page, render
    from kernlint.syntax.source import read_source
    from kernlint.write import require_folder, write_output

    if output is None:
        raise click.UsageError("-o FILE is missing: where to write the page")
    if isolated and config is not None:
        raise UsageError("--isolated and --config contradict each other")
    if output != _STDOUT:
        require_folder(output)
    device = None if device is None else device_id(device)
    paths = paths or (".",)
    given = None if reference is None else read_source(reference)
    named = None if given is None else (given.path, given.text)
    import kernlint.analysis  # noqa: F401 - once for all workers that are forked from this process

    configurations = Configurations(Overrides(extend_exclude=exclude), config, isolated)
    scope = scope or configurations.of(os.getcwd()).scope
    asked: dict[str, Any] = {"device": device, "scope": scope, "timeout_s": timeout, "workers": jobs or processors()}
    with Progress("analysing", "files") as progress:
        files = collect(paths, configurations, **asked, reference=named, progress=progress)
    devices = sorted({program.budget.device for file in files for program in file.programs})
    shown = tuple(os.path.basename(os.getcwd()) if path == "." else path for path in paths)
    text = render(Page(shown, ", ".join(devices) or device or DEFAULT_DEVICE, scope, top), files)
    data = text.encode("utf-8", "backslashreplace")
    if output == _STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    write_output(output, data)
    programs = sum(len(file.programs) for file in files)
    click.echo(
        f"report: {programs} program{'s' * (programs != 1)} of {len(files)} file{'s' * (len(files) != 1)}", err=True
    )
