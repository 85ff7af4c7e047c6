"""Strings with backslashes that Python will not take for ever: the running one warns of them, which is no matter of kernlint's."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

from kernlint.syntax.positions import python_tree, python_value

KERNEL = r'''"""What \d stands for."""
import torch
import triton
import triton.language as tl

PATTERN = "a\|b"
N = 4096


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr, WAY: tl.constexpr = "\s"):
    """By \w."""
    if WAY == "\s":
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2.0, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256, WAY="\s")
    return y


def get_inputs():
    return [torch.randn(N), "\p"]
'''


@pytest.mark.parametrize(
    "command", ["check k.py", "k.py --entry run --assume x:float32[4096]", "fix k.py --entry run", "explain k.py"]
)
def test_no_warning_of_python_comes_out(tmp_path, command):
    (tmp_path / "k.py").write_text(KERNEL, encoding="utf-8")
    run = [sys.executable, "-W", "always", "-m", "kernlint", *command.split()]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Warning" not in done.stderr and "Warning" not in done.stdout
    assert "Traceback" not in done.stderr


def test_values_and_trees_are_silent():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert python_value(r'"a\|b"') == "a\\|b"
        assert python_tree(r'x = "\d"') is not None
    assert not told


@pytest.mark.parametrize("text", ["f()", "1 +", '"', "\0"])
def test_what_is_no_literal_is_refused(text):
    with pytest.raises((ValueError, SyntaxError)):
        python_value(text)
