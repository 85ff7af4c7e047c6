"""Makes the fix of one rule, and runs programs before and after in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernlint.fix import Fixed, fix_source
from kernlint.request import Request

HEADER = "import torch\nimport triton\nimport triton.language as tl\n\n\n"

needs_interpreter = pytest.mark.skipif(
    find_spec("triton") is None or find_spec("torch") is None, reason="needs triton and torch"
)

#: Runs ModelNew of two files on the same inputs, with memory poisoned before it is written, and compares all results
#: and the inputs, which may be written to.
_COMPARE = """
import importlib.util, sys
import torch

torch.set_num_threads(1)

def poisoned(make):
    def made(*args, **kwargs):
        tensor = make(*args, **kwargs)
        return tensor.fill_(float("nan") if tensor.is_floating_point() else 77)
    return made

torch.empty, torch.empty_like = poisoned(torch.empty), poisoned(torch.empty_like)

def run(path):
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    inputs = module.get_inputs()
    out = module.ModelNew()(*inputs)
    return [*(out if isinstance(out, (tuple, list)) else [out]), *inputs]

tolerance = float(sys.argv[3])
for a, b in zip(run(sys.argv[1]), run(sys.argv[2]), strict=True):
    if isinstance(a, torch.Tensor):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=False)
"""


def fix(source: str, code: str, header: bool = True) -> Fixed:
    """What ``kernlint fix --rule`` makes of ``source`` (dedented, the imports added)."""
    text = textwrap.dedent(source).strip("\n") + "\n"
    return fix_source(Request((HEADER if header else "") + text, path="example.py"), rules=[code], unsafe=True)


def fixed(source: str, code: str, header: bool = True) -> str:
    """The fixed source, without the imports that were added; fails where no fix was made."""
    result = fix(source, code, header)
    assert result.applied, [refused.reason for refused in result.refused]
    assert not fix_source(Request(result.after, path="example.py"), rules=[code], unsafe=True).applied, "not idempotent"
    return result.after.removeprefix(HEADER if header else "")


def refusal(source: str, code: str) -> str:
    """Why no fix was made; fails where one was."""
    result = fix(source, code)
    assert not result.applied
    return " ".join(refused.reason for refused in result.refused)


def assert_same_results(folder: Path, before: str, after: str, tolerance: float = 0.0, header: bool = True) -> None:
    """Run both in Triton's interpreter on the CPU and compare everything they return or write."""
    paths = [folder / "before.py", folder / "after.py"]
    for path, text in zip(paths, (before, after)):
        path.write_text((HEADER if header else "") + textwrap.dedent(text))
    script = folder / "compare.py"
    script.write_text(_COMPARE)
    done = subprocess.run(
        [sys.executable, str(script), *map(str, paths), str(tolerance)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-3000:] + after
