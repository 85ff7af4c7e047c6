"""Whether torch was told to take deterministic algorithms alone."""

import textwrap

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import TorchOp

PROGRAM = """
import torch
import triton
import triton.language as tl

{before}

@triton.jit
def k(x):
    tl.store(x, 0)

def run(x: torch.Tensor):
    y = torch.empty_like(x)
    k[(1,)](y)
    return y

def later(x: torch.Tensor):
    torch.use_deterministic_algorithms(True)
    return run(x)
"""


def told(before: str, entry: str = "run") -> bool:
    workload = next(
        w for w in Program(parse_module(PROGRAM.format(before=before), "k.py")).workloads() if w.entry == entry
    )
    (made,) = (step for step in workload.all_steps if isinstance(step, TorchOp))
    return bool(made.dims.get("deterministic"))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", False),
        ("torch.use_deterministic_algorithms(True)", True),
        ("torch.use_deterministic_algorithms(mode=True, warn_only=True)", True),
        ("torch.use_deterministic_algorithms(False)", False),
        ("def seed():\n    torch.use_deterministic_algorithms(True)\nseed()", True),
        ("torch.use_deterministic_algorithms(chosen())", False),
        ("if chosen():\n    torch.use_deterministic_algorithms(True)", False),
        ("torch.use_deterministic_algorithms()", False),
    ],
)
def test_what_was_said_last_holds(before: str, expected: bool) -> None:
    assert told(before) is expected


def test_one_call_does_not_say_it_for_another() -> None:
    assert told("", "later")
    assert not told("", "run")


def test_a_norm_by_given_statistics_is_one_pass() -> None:
    text = """
        import torch, triton
        import triton.language as tl
        @triton.jit
        def k(x):
            tl.store(x, 0)
        def run(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor):
            y = torch.nn.functional.batch_norm(x, mean, var{training})
            k[(1,)](y)
            return y
    """
    kinds = {"": "elementwise", ", training=False": "elementwise", ", training=True": "norm", ", training=open": "norm"}
    for training, kind in kinds.items():
        made = textwrap.dedent(text).format(training=training)
        (workload,) = Program(parse_module(made, "k.py")).workloads()
        assert [step.kind for step in workload.all_steps if isinstance(step, TorchOp)] == [kind], training
