"""``kernlint calibrate``: the cost model fitted to the card at hand."""

from __future__ import annotations

import click

#: Seconds that the micro-benchmarks take at most, unless told otherwise, and may take.
_SECONDS = 240
_MOST_SECONDS = 300


@click.command()
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    default="device.json",
    show_default=True,
    help="The device file to write.",
)
@click.option("--base", metavar="NAME", help="Device to start from.  [default: by the name of the card]")
@click.option(
    "--seconds",
    type=click.FloatRange(min=10, max=_MOST_SECONDS),
    default=_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for the measurements.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def calibrate(output: str, base: str | None, seconds: float, force: bool) -> None:
    """Fit the cost model to the GPU at hand.

    Times micro-benchmarks and writes a file for `--device FILE`. Needs a CUDA GPU and `pip install 'kernlint[calibrate]'`. The file
    holds, for each term of the cost model, the ratio of measured time to data sheet, and how far off predictions were before and after.
    """
    import json
    from pathlib import Path

    from kernlint.calibrate.run import CannotCalibrateError, run
    from kernlint.errors import UsageError

    path = Path(output)
    if path.suffix != ".json":
        raise UsageError(f"{output}: a device file is called something.json, by which `--device` knows it")
    if path.exists() and not force:
        raise UsageError(f"{output} exists; --force overwrites it")
    try:
        found = run(base, seconds, lambda line: click.echo(line, err=True))
    except CannotCalibrateError as error:
        raise UsageError(str(error)) from None
    path.write_text(json.dumps(found.to_json(), indent=1) + "\n", encoding="utf-8")
    before, after = found.before, found.after
    click.echo(
        f"{output}: {after['rows']:.0f} launches; mean abs ln error {before['mean_abs_ln_error']:.3f} by the data sheet, "
        f"{after['mean_abs_ln_error']:.3f} calibrated; within 1.5x {before['within_1.5x']:.0%} and {after['within_1.5x']:.0%}. "
        f"Use it with --device {output}"
    )
