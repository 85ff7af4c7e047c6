"""``kernlint batch FILE -o FILE``: a verdict on each row of a file of programs."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import click

from kernlint.cli.options import (
    configured_for,
    device_id,
    device_option,
    jobs_option,
    list_devices,
    scope_option,
    timeout_option,
)
from kernlint.cli.streams import encodable
from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.batch.run import Engine, Outcome


@click.command()
@click.argument("tasks", metavar="TASKS", type=click.Path(), required=False)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Where to write the results: .jsonl or .parquet; - for standard output.",
)
@device_option("GPU for rows that name none; `list` shows all.  [default: as configured, else h100-sxm]")
@scope_option("the verdicts are")
@jobs_option
@timeout_option(60, "one row")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where to work: processes on this machine, or a Ray cluster (needs kernlint[ray]).",
)
@click.option("--afresh", is_flag=True, help="Start over instead of resuming an interrupted run.")
def batch(
    tasks: str | None,
    output: str | None,
    device: str | None,
    scope: str | None,
    jobs: int | None,
    timeout: float,
    engine: str,
    afresh: bool,
) -> None:
    """Judge many programs, a record for each.

    TASKS is a file of JSON Lines, or of Parquet (needs kernlint[batch]). A row has the column source and may have id, reference,
    device and set. No program is run; one that crashes the analysis or takes too long costs only its own row. There is one flat
    record a row, in the same order (`kernlint schema batch`). The same command resumes a run that was interrupted. Status 0: every
    row was processed, whatever the outcome; 2: wrong usage.
    """
    if list_devices(device):
        return
    from kernlint.batch.run import run_batch
    from kernlint.batch.store import is_parquet, require_parquet
    from kernlint.cli.progress import Progress
    from kernlint.write import require_folder

    if tasks is None:
        raise click.UsageError("no file of tasks given")
    if output is None:
        raise click.UsageError("-o FILE is missing: where to write the results")
    configured = configured_for(tasks)
    scope = scope or configured.scope
    if device is not None:
        device = device_id(device)
    elif configured.device_named:
        device = configured.device
    if output != "-":
        require_folder(output)
    if is_parquet(output):
        require_parquet()
    begun = time.monotonic()
    with Progress("judging", "rows") as progress:
        outcome = run_batch(
            tasks,
            output,
            _engine(engine, jobs),
            device=device,
            scope=scope,
            timeout_s=timeout,
            afresh=afresh,
            progress=progress,
        )
    _tell(outcome, time.monotonic() - begun)


def _engine(name: str, jobs: int | None) -> Engine:
    from kernlint.crew import processors

    if name == "ray":
        from kernlint.batch.ray_engine import judged_by_ray, require_ray

        if jobs is not None:
            raise UsageError("--jobs is for --engine local; a Ray cluster has as many workers as it has processors")
        require_ray()
        return judged_by_ray
    import kernlint.analysis  # noqa: F401 - once for all workers that are forked from this process
    from kernlint.batch.local import judged

    return partial(judged, workers=jobs or processors())


def _tell(outcome: Outcome, seconds: float) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in outcome.statuses.most_common())
    text = f"batch: {outcome.rows} row{'s' * (outcome.rows != 1)}" + (f": {counts}" if counts else "")
    fresh = outcome.rows - outcome.resumed
    if outcome.resumed:
        text += f"; {outcome.resumed} of them from an earlier run"
    if fresh and seconds >= 1:
        text += f"; {fresh / seconds:.1f} rows a second"
    click.echo(encodable(text, sys.stderr), err=True)
