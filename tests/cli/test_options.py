"""What the options of a task come to, together with the configuration of its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import warm

from kernlint.cli.options import TaskInput, read_task_input
from kernlint.errors import UsageError

NOTHING = {"reference": None, "assumptions": (), "perf": None, "device": None, "scope": None, "entry": None}


DOUBLE = """
import torch, triton
import triton.language as tl

@triton.jit
def double(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

x = torch.ones(4096, device="cuda")
double[(4,)](x, x.numel(), B=1024)
"""


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


@pytest.mark.parametrize(
    ("options", "told"), [([], ("a100-80gb-sxm", "call")), (["--scope", "gpu"], ("a100-80gb-sxm", "gpu"))]
)
def test_the_configuration_holds_for_many_programs_too(kernel, options, told):
    (kernel.parent / "kernlint.toml").write_text('device = "a100-80gb-sxm"\nscope = "call"\n')
    (kernel.parent / "tasks.jsonl").write_text('{"source": "x = 1"}\n')
    asked = ["batch", str(kernel.parent / "tasks.jsonl"), "-o", str(kernel.parent / "out.jsonl"), "-j", "1", *options]
    assert warm.run([*warm.KERNLINT, *asked]).returncode == 0
    row = json.loads((kernel.parent / "out.jsonl").read_text())
    assert (row["device"], row["scope"]) == told


@pytest.mark.parametrize(("options", "told"), [([], "call"), (["--scope", "gpu"], "gpu"), (["--isolated"], "gpu")])
def test_a_page_is_about_the_scope_that_is_configured(kernel, options, told):
    (kernel.parent / "kernlint.toml").write_text('scope = "call"\n')
    kernel.write_text(DOUBLE)
    page = warm.run([*warm.KERNLINT, "report", "kernel.py", "-o", "-", "-j", "1", *options], cwd=kernel.parent)
    assert page.returncode == 0 and f"scope <code>{told}</code>" in page.stdout.decode()


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
