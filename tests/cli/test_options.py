"""What the options of a task come to, together with the configuration of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.cli.options import TaskInput, read_task_input
from kernlint.errors import UsageError

NOTHING = {"reference": None, "assumptions": (), "perf": None, "device": None, "scope": None, "entry": None}


def ask(path: Path, **options: object) -> TaskInput:
    return read_task_input(str(path), **{**NOTHING, **options})  # type: ignore[arg-type]


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "kernel.py").write_text("x = 1\n")
    (tmp_path / "ref.py").write_text("y = 2\n")
    return tmp_path / "kernel.py"


def test_the_configuration_holds_for_every_command(kernel):
    (kernel.parent / "kernlint.toml").write_text(
        'device = "a100-80gb-sxm"\nscope = "call"\nreferences = {"kernel.py" = "ref.py"}\n'
    )
    task = ask(kernel)
    assert (task.request.device, task.request.scope) == ("a100-80gb-sxm", "call")
    assert task.request.reference == "y = 2\n"


def test_the_command_line_says_more(kernel):
    (kernel.parent / "kernlint.toml").write_text('device = "a100-80gb-sxm"\nscope = "call"\n')
    asked = ask(kernel, device="h100-sxm", scope="gpu").request
    assert (asked.device, asked.scope) == ("h100-sxm", "gpu") and asked.reference is None


def test_nothing_is_named_without_a_configuration(kernel):
    asked = ask(kernel).request
    assert asked.device is None and asked.scope == "gpu" and ask(kernel).project
    assert not ask(kernel, no_project=True).project


def test_a_wrong_configuration_is_an_error(kernel):
    (kernel.parent / "kernlint.toml").write_text('scope = "cpu"\n')
    with pytest.raises(UsageError, match="'cpu' is none of gpu, call"):
        ask(kernel)
