"""``kernlint fix PATH``: the change of the verdict, made."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from kernlint.cli.options import TaskInput, fix_options, list_devices, read_task_input, task_options
from kernlint.cli.streams import encodable
from kernlint.errors import UsageError
from kernlint.records import replace

if TYPE_CHECKING:
    from kernlint.fix import Applied, Fixed, Refused
    from kernlint.request import Request
    from kernlint.syntax.source import SourceText

_NOT_FIXED = 1
#: Fixes are analysed again one after another, so that many take many times as long as a verdict.
_PATIENCE = 5


@click.command()
@task_options
@fix_options
@click.option("--diff", is_flag=True, help="Show what would change, and write nothing.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(), help="Write the new source there; - for standard output."
)
def fix(
    device: str | None,
    settings: tuple[str, ...],
    rules: tuple[str, ...],
    follow_ups: bool,
    autotune: bool,
    unsafe_fixes: bool,
    diff: bool,
    output: str | None,
    **given: Any,
) -> None:
    """Make the change that the verdict advises.

    The file is rewritten in place, only where the change is, and only after the new source has been analysed again. Of a
    Markdown task file, which needs -o, the result is the kernel's Python source. Status 0: a change was made; 1: nothing
    to fix, or the change cannot be made automatically; 2: wrong usage.
    """
    if list_devices(device):
        return
    from kernlint.cli import worker
    from kernlint.cli.settings import parse_overrides
    from kernlint.syntax.source import STDIN_NAME
    from kernlint.syntax.task import is_markdown
    from kernlint.write import refuse_link_out_of

    if diff and output is not None:
        raise UsageError("--diff and -o contradict each other")
    overrides = parse_overrides(settings)
    task = read_task_input(device=device, **given)
    if output is None and not diff and is_markdown(task.source):
        raise UsageError(f"{task.source.path}: a Markdown task file is not rewritten; name a file with -o")
    if output is None and not diff and task.source.path != STDIN_NAME:
        refuse_link_out_of(task.source.path, os.getcwd(), os.path.dirname(task.source.path))
    wanted = {"rules": list(rules), "follow_ups": follow_ups, "autotune": autotune, "unsafe": unsafe_fixes}
    patience = _PATIENCE if follow_ups or rules else 1
    result: Fixed = worker.run_on_task(_fix, replace(task.request, overrides=overrides), patience, **wanted)
    if result.applied:
        _deliver(task, result, diff, output)
    _tell(task.source, result, diff)
    if not result.applied:
        raise click.exceptions.Exit(_NOT_FIXED)


def _fix(request: Request, **wanted: Any) -> Fixed:
    from kernlint.fix import fix_source

    return fix_source(request, **wanted)


def _deliver(task: TaskInput, result: Fixed, diff: bool, output: str | None) -> None:
    """The new source where it is wanted."""
    from kernlint.syntax.source import STDIN_NAME
    from kernlint.write import encoded, write_output, write_whole

    source = task.source
    if diff:
        _print(result.diff.encode("utf-8", "backslashreplace"))
    elif output == "-" or (output is None and source.path == STDIN_NAME):
        _print(encoded(result.after, source))
    elif output is not None:
        write_output(output, encoded(result.after, source))
    else:
        write_whole(source.path, encoded(result.after, source), expected=encoded(result.before, source))


def _print(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


# -- what is said on standard error -----------------------------------------------------------------------------------


def _tell(source: SourceText, result: Fixed, diff: bool) -> None:
    for applied in result.applied:
        _say(f"kernlint: {source.path}: {_made(applied, diff)}")
    for refused in result.refused:
        _say(f"kernlint: {source.path}: {_not_made(refused)}")
    if not result.applied and (result.wanted or not result.refused):
        _say(f"kernlint: {source.path}: {result.nothing}")


def _made(applied: Applied, diff: bool) -> str:
    from kernlint.verdict.speedup import format_speedup, format_us

    lines = ", ".join(map(str, applied.lines))
    anew = " with kernels written anew" if applied.anew and not applied.code else ""
    what = f"{applied.code} {applied.name}".strip() + anew
    done, changed = ("would fix", "to change") if diff else ("fixed", "changed")
    text = f"{done} {what} at line {applied.line} (line{'s' * (len(applied.lines) > 1)} {lines} {changed})"
    gain = applied.gain
    if gain is not None:
        times = f"{format_us(gain.before_us)} to {format_us(gain.after_us)} us"
        text += f", predicted {times} ({format_speedup(gain.low, gain.high)})"
    effects = applied.effects
    text += f"; {effects.applicability}, numerics {effects.numerics}"
    if effects.memory != "same":
        text += f", {effects.memory} peak memory"
    return text


def _not_made(refused: Refused) -> str:
    hint = " (--unsafe-fixes makes it)" if refused.unsafe else ""
    plan = f" By hand: {refused.plan}" if refused.plan and not refused.unsafe else ""
    reason = refused.reason.rstrip(".")
    return f"cannot fix {refused.title} at line {refused.line}: {reason}{hint}.{plan}"


def _say(text: str) -> None:
    click.echo(encodable(" ".join(text.split()), sys.stderr), err=True)
