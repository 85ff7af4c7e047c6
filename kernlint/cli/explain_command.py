"""``kernlint explain PATH``: where the time of a call goes, before and after the change."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kernlint.cli.options import DEFAULT_DEVICE, TaskInput, list_devices, read_task_input, task_options, trace_option
from kernlint.cli.streams import encodable, look_of
from kernlint.errors import KernlintError, UsageError
from kernlint.records import dataclass, replace

if TYPE_CHECKING:
    from kernlint.report.budget import Budget
    from kernlint.report.sweep import Sweep
    from kernlint.request import Request
    from kernlint.verdict.model import Verdict


@click.command()
@task_options
@trace_option
@click.option("--why-not", "refusals", is_flag=True, help="Also say why no change was found for the largest causes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (`kernlint schema explain`).")
@click.option(
    "--plot", metavar="FILE", type=click.Path(), help="Also draw a roofline plot, .svg or .png (needs kernlint[plot])."
)
def explain(
    device: str | None,
    settings: tuple[str, ...],
    assumptions: tuple[str, ...],
    refusals: bool,
    as_json: bool,
    plot: str | None,
    trace: bool,
    **given: Any,
) -> None:
    """Show where the time of a call goes.

    Every step before and after the best change, and those of the PyTorch reference. The options are those of `kernlint PATH`. A list
    of values, such as --set M=16,128,4096 or --assume 'x:int8[16|128,2048]', compares sizes instead: one row each, and where
    another change becomes the best.
    """
    if list_devices(device):
        return
    from kernlint.cli.settings import parse_sweep
    from kernlint.interpret.assume import MAX_SWEEP, sweep

    facts = sweep(assumptions)
    points = [_Point(swept, overrides, texts) for swept, texts in facts for overrides in parse_sweep(settings)]
    if len(points) > MAX_SWEEP:
        raise UsageError(f"--set and --assume ask for {len(points)} sizes; a sweep takes {MAX_SWEEP} at most")
    if plot is not None:
        from kernlint.report.roofline import check_plot_path

        if len(points) > 1:
            raise UsageError("--plot draws one size; give --set and --assume one value each")
        check_plot_path(plot)
    task = read_task_input(device=device, default_device=DEFAULT_DEVICE, assumptions=(), **given)
    if len(points) > 1:
        if trace:
            raise UsageError("--trace follows one call; give --set one value each")
        if refusals:
            raise UsageError("--why-not is about one size; give --set and --assume one value each")
        from kernlint.report import sweep as table

        _show(_sweep(task, points), table.render, as_json)
        return
    result = _run(_budget_with_refusals if refusals else _budget, task, points[0], trace)
    from kernlint.report import budget_text

    _show(result, budget_text.render, as_json)
    if plot is not None:
        _plot(result, plot)


@dataclass(frozen=True)
class _Point:
    """One point of a sweep: what is special about its facts, and what is set and assumed there."""

    swept: Mapping[str, str]
    overrides: Mapping[str, Any]
    assumptions: list[str]


def _run(call: Any, task: TaskInput, point: _Point, trace: bool = False) -> Any:
    from kernlint.cli import worker

    request = replace(
        task.request, overrides=dict(point.overrides), assumptions=tuple(point.assumptions), project=task.project
    )
    if trace:
        from kernlint.cli.tracing import traced

        request = traced(request)
    return worker.run_on_task(call, request)


def _budget(request: Request) -> Budget:
    from kernlint.analysis import analysis
    from kernlint.report.budget import budget

    return budget(analysis(request))


def _budget_with_refusals(request: Request) -> Budget:
    from kernlint.analysis import analysis
    from kernlint.report.budget import budget

    return budget(analysis(request), refusals=True)


def _verdict(request: Request) -> Verdict:
    from kernlint.analysis import answer

    return answer(request)


def _sweep(task: TaskInput, points: list[_Point]) -> Sweep:
    """Every size on its own; one that has no verdict costs only its row, unless none has."""
    from kernlint.cli.progress import Progress
    from kernlint.report.sweep import SizeAnswer, Sweep

    names = [name for name in points[0].overrides if len({repr(point.overrides[name]) for point in points}) > 1]
    answers: list[SizeAnswer] = []
    first: KernlintError | None = None
    with Progress("analysing", "sizes") as progress:
        for point in points:
            settings = {**{name: point.overrides[name] for name in names}, **point.swept}
            progress(len(answers), len(points))
            try:
                answers.append(SizeAnswer(settings, _run(_verdict, task, point)))
            except KernlintError as error:
                first = first or error
                answers.append(SizeAnswer(settings, None, str(error)))
    if first is not None and all(answer.verdict is None for answer in answers):
        raise first
    return Sweep(task.source.path, task.request.device or DEFAULT_DEVICE, task.request.scope, tuple(answers))


def _show(result: Budget | Sweep, render: Callable[..., str], as_json: bool) -> None:
    _write(_json(result) if as_json else render(result, look_of(sys.stdout)))


def _json(result: Budget | Sweep) -> str:
    return json.dumps(result.to_json(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _write(text: str) -> None:
    sys.stdout.write(encodable(text, sys.stdout))
    sys.stdout.flush()


def _plot(result: Budget, path: str) -> None:
    from kernlint.report.roofline import write_roofline

    try:
        write_roofline(result, path)
    except OSError as error:
        raise UsageError(f"--plot {path}: {error.strerror or error}") from None
