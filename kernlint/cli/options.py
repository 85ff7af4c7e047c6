"""The options that every command about one task takes, and what they mean to :func:`kernlint.analyze`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kernlint.cli.completion import complete_device, complete_rule
from kernlint.cli.streams import look_of
from kernlint.errors import UsageError
from kernlint.records import dataclass, replace
from kernlint.request import DEFAULT_DEVICE, Request

if TYPE_CHECKING:
    from kernlint.lint.settings import Settings
    from kernlint.syntax.source import SourceText

#: Where a context keeps what is to be said on standard error once the answer is out.
NOTE = "kernlint.note"

_Function = TypeVar("_Function", bound=Callable[..., Any])


def device_option(text: str) -> Callable[[_Function], _Function]:
    """``--device``, which is for what ``text`` says."""
    return click.option("--device", metavar="NAME", help=text, shell_complete=complete_device)


def scope_option(subject: str) -> Callable[[_Function], _Function]:
    """``--scope`` of what ``subject`` names, as the configuration says where it is not given."""
    text = f"Which time {subject} about: device time, or wall time per call.  [default: as configured, else gpu]"
    return click.option("--scope", type=click.Choice(["gpu", "call"]), help=text)


def timeout_option(seconds: int, what: str) -> Callable[[_Function], _Function]:
    """``--timeout`` for ``what``."""
    kind = click.FloatRange(min=0, min_open=True, max=1_000_000)
    text = f"Time limit for {what}."
    return click.option("--timeout", type=kind, default=seconds, show_default=True, metavar="SECONDS", help=text)


reference_option = click.option(
    "--reference", metavar="FILE", type=click.Path(), help="Python file with the PyTorch reference (Model, get_inputs)."
)
set_option = click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Override a module-level constant."
)
exclude_option = click.option(
    "--exclude", metavar="PATTERN", multiple=True, help="Leave out these files and folders too."
)
config_option = click.option(
    "--config", metavar="FILE", type=click.Path(), help="Use this pyproject.toml or kernlint.toml for all files."
)
isolated_option = click.option("--isolated", is_flag=True, help="Read no configuration file.")

_OPTIONS = (
    click.argument("path", metavar="PATH", type=click.Path(), required=False),
    reference_option,
    set_option,
    click.option(
        "--assume",
        "assumptions",
        metavar="FACT",
        multiple=True,
        help="A fact: [FUNC.]NAME:dtype[dims], NAME=VALUE or x.shape[0]=INT, such as x:int8[?,2048] or causal=False.",
    ),
    click.option(
        "--perf",
        metavar="FILE",
        type=click.Path(),
        help="Measured times: latencies, Nsight Compute, torch or Proton profile.",
    ),
    device_option(f"GPU that times are predicted for; `list` shows all.  [default: {DEFAULT_DEVICE}]"),
    click.option(
        "--scope",
        type=click.Choice(["gpu", "call"]),
        help="Which time the answer is about: device time, or wall time per call.  [default: gpu]",
    ),
    click.option("--no-project", is_flag=True, help="Use no facts from other files of the project."),
    click.option(
        "--entry",
        metavar="NAME",
        help="Function to analyse.  [default: ModelNew.forward, else each one that launches a kernel]",
    ),
)

jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Number of processes.  [default: one per processor]",
)

_TRACE_OPTION = click.option(
    "--trace",
    is_flag=True,
    help="Where reading the host code is not enough, run it on fake tensors in a sandbox, without a GPU (needs kernlint[verify]).",
)

_FIX_OPTIONS = (
    click.option(
        "--rule",
        "rules",
        metavar="RULE",
        multiple=True,
        help="Fix what this rule finds, by code or name.",
        shell_complete=complete_rule,
    ),
    click.option("--follow-ups", is_flag=True, help="Then make the next change, until none is worth it."),
    click.option("--autotune", is_flag=True, help="Where one tile would be advised, have tiles tuned on the device."),
    click.option("--unsafe-fixes", is_flag=True, help="Also make changes that may alter results or lose comments."),
)


def task_options(command: _Function) -> _Function:
    """Adds the argument PATH and the shared options, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def trace_option(command: _Function) -> _Function:
    """Adds ``--trace``."""
    return _TRACE_OPTION(command)


def fix_options(command: _Function) -> _Function:
    """Adds the options that say which changes to make, in the order of the help."""
    for option in reversed(_FIX_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class TaskInput:
    """What the options name, read: the sources, and what is asked about them but for ``overrides``."""

    source: SourceText
    reference: SourceText | None
    request: Request
    #: Whether other files of the project may be asked for facts, by the commands that do.
    project: bool = True

    @property
    def sources(self) -> list[SourceText]:
        return [self.source] if self.reference is None else [self.source, self.reference]


def list_devices(device: str | None) -> bool:
    """Print the devices where ``device`` is ``list``; whether that was it."""
    if device != "list":
        return False
    from kernlint.cli.devices_table import render

    click.echo(render(look=look_of(sys.stdout)), nl=False)
    return True


def read_task_input(
    path: str | None,
    reference: str | None,
    assumptions: tuple[str, ...],
    perf: str | None,
    device: str | None,
    scope: str | None,
    entry: str | None,
    no_project: bool = False,
    default_device: str | None = None,
) -> TaskInput:
    """Read the files that the options name; device, scope and reference are those of the nearest configuration where they are not
    given. Raises ``UsageError`` and ``SourceError``."""
    from kernlint.syntax.source import read_source

    if path is None:
        raise click.UsageError("no PATH given; see `kernlint --help`")
    if os.path.isdir(path):
        raise UsageError(f"{path}: is a directory; `kernlint check` and `kernlint report` read those")
    if path == reference == "-":
        raise UsageError("the kernel and the reference cannot both come from standard input")
    if perf == "-" and "-" in (path, reference):
        raise UsageError("--perf and another file cannot both come from standard input")
    configured = configured_for(path)
    if device is None and configured.device_named:
        device = configured.device
    device = device or default_device
    if reference is None and path != "-":
        reference = configured.of_file(os.path.abspath(path)).reference
    scope = scope or configured.scope
    known = None if device is None else device_id(device)
    source = read_source(path)
    reference_source = None if reference is None else read_source(reference)
    request = Request(source.text, source.path, device=known, scope=scope, entry=entry, assumptions=tuple(assumptions))
    if reference_source is not None:
        request = replace(request, reference=reference_source.text, reference_path=reference_source.path)
    if perf is not None:
        from kernlint.perf.read import read_performance_file

        data = read_performance_file(perf)
        request = replace(request, performance=data.text, performance_path=data.path)
    return TaskInput(source, reference_source, request, not no_project)


def device_id(name: str) -> str:
    from kernlint.cost.device import chosen, find_device

    device = find_device(name)
    context = click.get_current_context(silent=True)
    if context is not None and (said := chosen(name, device)):
        context.meta[NOTE] = said
    return device.id


def configured_for(path: str) -> Settings:
    """The settings of the folder that ``path`` is in."""
    from kernlint.lint.config import Configurations

    return Configurations().of(os.getcwd() if path == "-" else os.path.dirname(os.path.abspath(path)))
