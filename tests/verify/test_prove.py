"""Whole verifications, with torch and Triton on the CPU: slow, and skipped where either is missing."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from support.late import needs

from kernlint.request import Request
from kernlint.schema import load
from kernlint.verify.plan import NothingToProve, Plan, make_plan
from kernlint.verify.prove import prove
from kernlint.verify.update import with_verification

pytestmark = [pytest.mark.slow, needs("torch"), needs("triton")]

FIXTURES = Path(__file__).parents[2] / "fixtures"

REFERENCE = """
import torch
ROWS = 5
COLS = 100
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2.0
def get_inputs():
    return [torch.randn(ROWS, COLS)]
def get_init_inputs():
    return []
"""

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2.0, mask=mask)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda and x.device.type == "cuda"
        y = torch.empty_like(x)
        n = x.numel()
        double[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
        return y
"""


def plan(fixed: str, kernel: str = KERNEL) -> Plan:
    made = make_plan(Request(kernel, reference=REFERENCE), fixed=fixed)
    assert isinstance(made, Plan)
    return made


def verified(fixed: str, backend: str = "interpreter", timeout: float = 150.0):
    return prove(plan(fixed), backend, timeout_s=timeout)


def test_the_same_code_is_correct_also_where_it_wants_a_gpu():
    found = verified(KERNEL)
    assert found.outcome == "correct"
    assert found.reference == "the reference in float64"
    assert all(case.outcome == "correct" for case in found.cases if "apart" not in case.name)


def test_a_wrong_result_is_incorrect():
    found = verified(KERNEL.replace("* 2.0", "* 2.5"))
    assert found.outcome == "incorrect" and not found.proven


@pytest.mark.parametrize("factor", ["2.01", "2.002", "1.998"])
def test_a_constant_that_is_hardly_wrong_is_incorrect(factor):
    found = verified(KERNEL.replace("* 2.0", f"* {factor}"))
    assert found.outcome == "incorrect"
    assert "times the reference" in found.summary


_KEPT = """self.y = getattr(self, "y", None)
        y = self.y = torch.empty_like(x) if self.y is None or self.y.shape != x.shape else self.y"""
_COUNTED = """self.calls = getattr(self, "calls", 0) + 1
        return y if self.calls < 2 else y * 1.0001"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("y = torch.empty_like(x)", _KEPT, "overwritten by the next call"),
        ("return y", _COUNTED, "another one when it is called again"),
        ("return y", "return y.double()", "has the type float64, before float32"),
    ],
)
def test_what_only_those_who_use_the_result_would_notice(old, new, why):
    found = verified(KERNEL.replace(old, new))
    assert found.outcome == "incorrect" and why in found.summary + str(found.cases)
    both = prove(plan(KERNEL.replace(old, new), KERNEL.replace(old, new)), "interpreter", timeout_s=150.0)
    assert both.outcome == "correct"


_STRIDED = (
    KERNEL.replace("x_ptr, y_ptr, n, BLOCK", "x_ptr, y_ptr, n, width, row, element, BLOCK")
    .replace("tl.load(x_ptr + offs, ", "tl.load(x_ptr + offs // width * row + offs % width * element, ")
    .replace("(x, y, n, BLOCK=64)", "(x, y, n, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)")
    .replace("torch.empty_like(x)", "torch.empty(x.shape, dtype=x.dtype, device=x.device)")
)


def test_a_change_that_takes_no_slices_any_more_is_incorrect():
    for stride, name in (("x.stride(0)", "rows apart"), ("x.stride(1)", "elements apart")):
        found = prove(plan(_STRIDED.replace(stride, "x.shape[1]" if "0" in stride else "1"), _STRIDED), "interpreter")
        assert found.outcome == "incorrect" and name in found.summary
    same = prove(plan(_STRIDED, _STRIDED), "interpreter")
    assert same.outcome == "correct" and sum(case.outcome == "correct" for case in same.cases) == len(same.cases)
    none = prove(plan(KERNEL, KERNEL), "interpreter")
    assert none.outcome == "correct" and "compared" not in none.summary


def test_the_same_in_another_way_is_correct():
    changed = KERNEL.replace("tl.load(x_ptr + offs, mask=mask) * 2.0", "tl.load(x_ptr + offs, mask=mask) / 0.5")
    assert verified(changed).outcome == "correct"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("gelu(accumulator + bias", "gelu(accumulator * 1.005 + bias", id="factor 1.005"),
        pytest.param("gelu(accumulator + bias", "gelu(accumulator * 1.001 + bias", id="factor 1.001"),
        pytest.param("0.7978845608028654", "0.79", id="constant of the epilogue"),
        pytest.param("tl.cdiv(K, BLOCK_SIZE_K))", "tl.cdiv(K, BLOCK_SIZE_K) - 1)", id="a block of K dropped"),
        pytest.param("< K - k * BLOCK_SIZE_K", "< K - 1 - k * BLOCK_SIZE_K", id="a tail off by one"),
        pytest.param("offs_cm[:, None] < M", "offs_cm[:, None] < M - 1", id="a row not stored"),
        pytest.param("mask=offs_k[None, :] < K - k * BLOCK_SIZE_K", "mask=offs_k[None, :] >= 0", id="a mask missing"),
    ],
)
def test_mutants_of_a_matmul_are_incorrect(old, new):
    path = FIXTURES / "pairs" / "fuse-gemm-bias-gelu"
    after = (path / "after.py").read_text()
    assert old in after
    made = make_plan(
        Request((path / "before.py").read_text(), reference=(path / "reference.py").read_text()),
        fixed=after.replace(old, new),
    )
    assert isinstance(made, Plan)
    assert prove(made, "interpreter").outcome == "incorrect"


def test_a_matmul_in_tf32_on_int8_and_in_float32_are_proven():
    for name in ("gemm-fp32-ieee-tf32", "gemm-int8-upcast-copy", "fuse-gemm-bias-gelu"):
        path = FIXTURES / "pairs" / name
        texts = [(path / f"{part}.py").read_text() for part in ("before", "reference", "after")]
        made = make_plan(Request(texts[0], reference=texts[1]), fixed=texts[2])
        assert isinstance(made, Plan)
        assert prove(made, "interpreter").outcome == "correct"


LITERALS = REFERENCE.replace("ROWS, COLS", "64, 1 << 20").replace(
    "return x * 2.0", "assert x.shape[0] % 2 == 0\n        return x * 2.0"
)


def test_literal_sizes_shrink_and_those_that_the_reference_refuses_are_dropped():
    made = make_plan(Request(KERNEL, reference=LITERALS), fixed=KERNEL.replace("* 2.0", "/ 0.5"))
    assert isinstance(made, Plan)
    assert made.small.sizes["SIZE_1048576"] < 1 << 16
    said: list[str] = []
    found = prove(made, "interpreter", progress=said.append)
    assert found.outcome == "correct" and "that the reference does not take" in found.summary
    skipped = [case for case in found.cases if case.sizes["SIZE_64"] % 2]
    assert skipped and all(case.outcome == "skipped" and "reference" in case.note for case in skipped)
    assert f"{made.small.name}: correct" in said


def test_sizes_of_facts_shrink_too():
    kernel = KERNEL + "\ndef twice(x):\n    return ModelNew().forward(x)\n"
    fact = ("x:float16[512,65536]",)
    made = make_plan(Request(kernel, entry="twice", assumptions=tuple(fact)), fixed=kernel.replace("* 2.0", "/ 0.5"))
    wrong = make_plan(Request(kernel, entry="twice", assumptions=tuple(fact)), fixed=kernel.replace("* 2.0", "* 2.002"))
    assert isinstance(made, Plan) and isinstance(wrong, Plan)
    found = prove(made, "interpreter")
    assert found.outcome == "correct" and found.reference == "the version before"
    assert all(case.sizes["SIZE_512"] * case.sizes["SIZE_65536"] < 1 << 21 for case in found.cases)
    assert prove(wrong, "interpreter").outcome == "incorrect"


def test_a_tail_that_is_left_out_is_found():
    found = verified(KERNEL.replace("triton.cdiv(n, 64)", "n // 64"))
    assert found.outcome == "incorrect"
    assert "never written" in found.summary


def test_a_hang_is_a_result():
    found = verified(KERNEL.replace("return y", "\n        while True: pass"), timeout=40.0)
    assert found.outcome == "failed"
    assert "longer than" in found.summary


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raise SystemExit(0)", "SystemExit"),
        ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("raise RuntimeError('boom')", "boom"),
    ],
)
def test_faults_of_the_changed_version_are_results(fault, words):
    found = verified(KERNEL.replace("return y", fault))
    assert found.outcome == "failed" and words in found.summary


def test_a_module_that_does_not_load_is_a_result():
    assert verified(KERNEL + "\nraise ValueError('at import')\n").outcome == "failed"


def test_a_change_to_an_argument_is_seen():
    assert verified(KERNEL.replace("return y", "x.zero_()\n        return y")).outcome == "incorrect"


def test_arguments_that_only_the_versions_write_to_are_compared_with_each_other():
    kernel = KERNEL.replace("return y", "x.copy_(y)\n        return y")
    made = make_plan(Request(kernel, reference=REFERENCE), fixed=kernel)
    wrong = make_plan(Request(kernel, reference=REFERENCE), fixed=KERNEL)
    assert isinstance(made, Plan) and isinstance(wrong, Plan)
    assert prove(made, "interpreter").outcome == "correct"
    assert prove(wrong, "interpreter").outcome == "incorrect"


@pytest.mark.parametrize(("factor", "outcome"), [("2.0", "correct"), ("2.004", "incorrect")])
def test_bfloat16_is_rounded_as_on_a_gpu(factor, outcome):
    kernel = KERNEL.replace("y = torch.empty_like(x)", "y = torch.empty_like(x, dtype=torch.bfloat16)")
    reference = REFERENCE.replace("x * 2.0", "(x * 2.0).bfloat16()").replace("ROWS = 5", "ROWS = 50")
    made = make_plan(Request(kernel, reference=reference), fixed=kernel.replace("* 2.0", f"* {factor}"))
    assert isinstance(made, Plan)
    assert prove(made, "interpreter").outcome == outcome


def test_the_seed_is_proven_and_fits_the_schema():
    path = FIXTURES / "seed" / "task.md"
    made = make_plan(Request(path.read_text(), path=str(path)), follow_ups=True)
    assert isinstance(made, Plan)
    compiled = prove(made, "compile")
    assert compiled.outcome == "lowered" and not compiled.proven
    assert "wgmma tf32 became wgmma s8" in compiled.summary
    after = [kernel for kernel in compiled.kernels if kernel.version == "after"]
    assert all(not kernel.spill_bytes and "1" not in kernel.load_bytes for kernel in after)
    interpreted = prove(made, "interpreter", timeout_s=400.0)
    assert interpreted.outcome == "correct"
    for found in (compiled, interpreted):
        jsonschema.validate(with_verification(made.verdict, found, update=True).to_json(), load("verdict"))


def test_a_kernel_that_does_not_compile_is_failed():
    path = FIXTURES / "pairs" / "gemm-int8-upcast-copy"
    broken = (
        (path / "after.py").read_text().replace("out = tl.maximum(out, 0.0)", "out = tl.maximum(out, tl.arange(0, 3))")
    )
    made = make_plan(
        Request((path / "before.py").read_text(), reference=(path / "reference.py").read_text(), path="before.py"),
        fixed=broken,
    )
    assert isinstance(made, Plan)
    assert prove(made, "compile").outcome == "failed"


def test_nothing_to_fix_is_nothing_to_prove():
    path = FIXTURES / "pairs" / "softmax-ok"
    made = make_plan(Request((path / "before.py").read_text(), reference=(path / "reference.py").read_text()))
    assert isinstance(made, NothingToProve)


WRONG = """
import torch
import triton
import triton.language as tl

@triton.jit
def total(x, y, n, B: tl.constexpr):
    a = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y, tl.sum(tl.load(x + a, mask=a < n, other=0.0), axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(1, device=x.device)
        total[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
        return y

def get_inputs():
    return [torch.randn(1 << 16)]
"""
RIGHT = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum().reshape(1)

def get_inputs():
    return [torch.randn(1 << 16)]
"""


def test_mended_code_is_held_against_the_reference():
    made = make_plan(Request(WRONG), rules=["KL761"])
    assert isinstance(made, NothingToProve) and "--reference" in made.reasons[0]
    made = make_plan(Request(WRONG, reference=RIGHT), rules=["KL761"])
    assert isinstance(made, Plan) and made.change.numerics == "changed"


def test_a_mend_is_proven_where_the_version_before_is_wrong():
    made = make_plan(Request(WRONG, reference=RIGHT), rules=["KL761"])
    found = prove(made, "interpreter")
    assert found.outcome == "correct" and "the version before does not" in found.summary


@pytest.mark.gpu
def test_the_seed_is_faster_on_a_gpu():
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    path = FIXTURES / "seed" / "task.md"
    made = make_plan(Request(path.read_text(), path=str(path)), follow_ups=True)
    assert isinstance(made, Plan)
    found = prove(made, "gpu")
    assert found.outcome == "faster" and found.timings is not None and found.timings.captured
