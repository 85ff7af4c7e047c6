"""Generated kernels run: in Triton's interpreter against the reference, and through its compiler for a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.generated import CASES, RUN, at_odd_sizes, attempt, program_of

from kernlint.rewrite.text import apply_edits


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["as given", "odd"])
@pytest.mark.parametrize("name", CASES)
def test_generated_kernels_compute_it(tmp_path: Path, name: str, sizes: str) -> None:
    """In Triton's interpreter, at the sizes they were written for and at others."""
    pytest.importorskip("triton")
    source, reference = program_of(name)
    made = attempt(source, reference)
    assert made.rewriting is not None
    (tmp_path / "after.py").write_text(apply_edits(source, made.rewriting.edits))
    if sizes == "odd":
        reference = at_odd_sizes(reference)
    (tmp_path / "reference.py").write_text(reference)
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]


_COMPILE = """
import sys, torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction
sys.path.insert(0, sys.argv[1])

TYPES = {torch.float64: "*fp64",
         torch.float32: "*fp32", torch.float16: "*fp16", torch.bfloat16: "*bf16", torch.int8: "*i8", torch.int16: "*i16",
         torch.int32: "*i32",
         torch.int64: "*i64", torch.bool: "*i1", torch.uint8: "*u8"}


def launch(kernel, *values, num_warps=4, num_stages=3, **constants):
    signature = {}
    for name, value in zip(kernel.arg_names, values):
        signature[name] = TYPES[value.dtype] if isinstance(value, torch.Tensor) else "fp32" if isinstance(value, float) else "i32"
    constants |= {one.name: value for one, value in zip(kernel.params, values) if one.is_constexpr}
    signature |= dict.fromkeys(constants, "constexpr")
    source = ASTSource(kernel, signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": num_warps, "num_stages": num_stages})
    assert made.metadata.shared <= 232448, made.metadata.shared


JITFunction.__getitem__ = lambda kernel, grid: lambda *values, **options: launch(kernel, *values, **options)
import after, reference
after.ModelNew(*reference.get_init_inputs())(*reference.get_inputs())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_generated_kernels_compile(tmp_path: Path, name: str) -> None:
    """For an H100, whose compiler minds more than the interpreter does, and in its shared memory."""
    pytest.importorskip("triton")
    source, reference = program_of(name)
    made = attempt(source, reference)
    assert made.rewriting is not None
    (tmp_path / "after.py").write_text(apply_edits(source, made.rewriting.edits))
    (tmp_path / "reference.py").write_text(reference)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", _COMPILE, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
