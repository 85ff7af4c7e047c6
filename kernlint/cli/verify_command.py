"""``kernlint verify PATH``: the change of the verdict, run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kernlint.cli.options import DEFAULT_DEVICE, fix_options, list_devices, read_task_input, task_options
from kernlint.cli.streams import encodable
from kernlint.records import replace

if TYPE_CHECKING:
    from kernlint.request import Request
    from kernlint.verify.plan import NothingToProve, Plan

_NOT_PROVEN = 1
#: Of the change, as a class of rounding differences or as a format.
NUMERICS = ("exact", "reordered", "changed")
FORMATS = ("tf32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
#: The fix is made, and the changed source analysed again at several sizes.
_PATIENCE = 8


@click.command()
@task_options
@click.option("--fixed", metavar="FILE", type=click.Path(), help="The changed version, instead of the automatic fix.")
@click.option(
    "--backend",
    type=click.Choice(["auto", "gpu", "interpreter", "compile"]),
    default="auto",
    show_default=True,
    help="Where to run it; auto takes the GPU if there is one, else the interpreter.",
)
@fix_options
@click.option(
    "--numerics",
    type=click.Choice([*NUMERICS, *FORMATS]),
    metavar="CLASS",
    help="How results may differ by rounding: exact, reordered (sums), changed (the formats that are new), or a format that is "
    "computed in (tf32, float16, bfloat16, float8_e4m3fn, float8_e5m2).  [default: as the fix declares; for --fixed reordered, "
    "or changed where formats are new]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=180,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for the whole run.",
)
@click.option(
    "--memory", type=click.IntRange(min=64), metavar="MB", help="Limit on the host memory of all processes together."
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict with `details.verification` filled.")
@click.option("--update", is_flag=True, help="Like --json, with the measured speedup instead of the predicted one.")
def verify(
    device: str | None,
    settings: tuple[str, ...],
    fixed: str | None,
    backend: str,
    rules: tuple[str, ...],
    follow_ups: bool,
    autotune: bool,
    unsafe_fixes: bool,
    numerics: str | None,
    timeout: float,
    memory: int | None,
    as_json: bool,
    update: bool,
    **given: Any,
) -> None:
    """Run a change and its original to prove it.

    Both are compared with the reference. This runs the code it is given, in a child process with limits. Status 0: it ran, is
    correct, and was not slower where it was timed; 1: incorrect, slower, failed, not checkable, or only compiled; 2: wrong usage, or
    torch or Triton is missing. Progress goes to standard error.
    """
    if list_devices(device):
        return
    from kernlint.cli import worker
    from kernlint.cli.settings import parse_overrides
    from kernlint.errors import UsageError
    from kernlint.report import json_, verification_text
    from kernlint.syntax.source import read_source
    from kernlint.verify.plan import NothingToProve
    from kernlint.verify.prove import prove
    from kernlint.verify.update import with_verification
    from kernlint.verify.versions import require

    require()
    if fixed is not None and (rules or follow_ups or autotune or unsafe_fixes):
        raise UsageError(
            "--fixed names the changed version; --rule, --follow-ups, --autotune and --unsafe-fixes make one"
        )
    wanted: dict[str, Any] = {"rules": list(rules), "follow_ups": follow_ups, "autotune": autotune}
    wanted |= {"unsafe": unsafe_fixes, "numerics": numerics}
    overrides = parse_overrides(settings)
    task = read_task_input(device=device, default_device=DEFAULT_DEVICE, **given)
    if fixed is not None:
        changed = read_source(fixed)
        wanted |= {"fixed": changed.text, "fixed_path": changed.path}
    _tell("reading the kernel and its change")
    plan: Plan | NothingToProve = worker.run_on_task(
        _plan, replace(task.request, overrides=overrides), _PATIENCE, **wanted
    )
    if isinstance(plan, NothingToProve):
        raise UsageError(f"{task.source.path}: no change to prove: {'; '.join(plan.reasons)}")
    found = prove(plan, backend, task.request.scope, timeout, memory, _tell)
    if as_json or update:
        sys.stdout.write(json_.render(with_verification(plan.verdict, found, update)))
    else:
        sys.stdout.write(encodable(verification_text.render(found), sys.stdout))
    sys.stdout.flush()
    if not found.proven:
        raise click.exceptions.Exit(_NOT_PROVEN)


def _tell(what: str) -> None:
    """One line of progress."""
    print(encodable(f"verify: {what}", sys.stderr), file=sys.stderr, flush=True)


def _plan(request: Request, **wanted: Any) -> Plan | NothingToProve:
    from kernlint.verify.plan import make_plan

    return make_plan(request, **wanted)
