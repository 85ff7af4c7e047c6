"""Every dev pair that can be fixed: the fixed program computes what the original does, in Triton's interpreter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.rewriting import assert_same_results, needs_interpreter

from kernlint.fix import fix_source
from kernlint.request import Request

PAIRS = Path(__file__).parents[2] / "fixtures/pairs"

#: What is worth doing and has no automatic rewrite.
BY_HAND = {"attention-naive", "conv2d-naive", "rnn-python-loop"}

POSITIVE = sorted(
    case.parent.name
    for case in PAIRS.glob("*/case.json")
    if json.loads(case.read_text())["worth_optimizing"] == "yes" and (case.parent / "before.py").exists()
)

#: Gives the model the arguments that the reference names.
_MODEL = """

_initialise = ModelNew.__init__


def _with_arguments(self):
    torch.manual_seed(1)
    _initialise(self, *get_init_inputs())


ModelNew.__init__ = _with_arguments
"""


def program(pair: Path, kernel: str) -> str:
    """``kernel`` with the reference at the size of the pair's check as one program."""
    reference = (pair / "reference.py").read_text()
    for name, value in json.loads((pair / "case.json").read_text())["check_size"]["set"].items():
        reference = re.sub(rf"(?m)^{name}\s*=.*$", f"{name} = {value}", reference)
    return f"{reference}\n\n{kernel}{_MODEL}"


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in POSITIVE if name not in BY_HAND])
def test_a_fixed_pair_computes_the_same(tmp_path: Path, name: str) -> None:
    pair = PAIRS / name
    before = (pair / "before.py").read_text()
    reference = (pair / "reference.py").read_text()
    result = fix_source(Request(before, path="before.py", reference=reference), follow_ups=True, unsafe=True)
    assert result.applied, result.refused
    assert_same_results(tmp_path, program(pair, before), program(pair, result.after), 2e-3)


def test_most_pairs_can_be_fixed() -> None:
    assert set(POSITIVE) >= BY_HAND
    assert len(BY_HAND) / len(POSITIVE) <= 0.4
