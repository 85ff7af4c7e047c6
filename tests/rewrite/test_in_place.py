"""Results copied back over an input: the kernel writes there itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.rewriting import HEADER, assert_same_results, fixed, needs_interpreter, refusal

from kernlint.rules.registry import find_rule

STEP = """
@triton.jit
def descend(w_ptr, g_ptr, new_ptr, size, rate, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < size
    w = tl.load(w_ptr + at, mask=ok)
    g = tl.load(g_ptr + at, mask=ok).to(new_ptr.dtype.element_ty)
    tl.store(new_ptr + at, w - rate * g, mask=ok)


def step(weight, grad):
    size = weight.numel()
    # scratch
    result = torch.empty_like(weight)

    CALL
    # over the old one
    COPY
    return weight


class ModelNew(torch.nn.Module):
    def forward(self, weight, grad):
        return step(weight, grad)


SIZE = 1 << 22

def get_inputs():
    return [torch.randn(SIZE), torch.randn(SIZE)]
"""
CALLS = {
    "positional": "descend[(triton.cdiv(size, 1024),)](weight, grad, result, size, 0.1, BLOCK=1024)",
    "keywords": "descend[(triton.cdiv(size, 1024),)](g_ptr=grad, new_ptr=result, w_ptr=weight, size=size, rate=0.1, BLOCK=1024)",
}
COPIES = {"copy_": "weight.copy_(result)", "slice": "weight[:] = result"}
CASES = [pytest.param(call, copy, id=f"{a}, {b}") for a, call in CALLS.items() for b, copy in COPIES.items()]


def program(call: str, copy: str) -> str:
    return STEP.replace("CALL", call).replace("COPY", copy)


@pytest.mark.parametrize(("call", "copy"), CASES)
def test_the_copy_and_the_temporary_are_gone(call: str, copy: str) -> None:
    after = fixed(program(call, copy), "KL303")
    assert "result" not in after and "new_ptr" not in after
    assert "# scratch" not in after and "# over the old one" not in after
    assert "tl.store(w_ptr + at" in after


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 1000, 1025])
@pytest.mark.parametrize(("call", "copy"), CASES)
def test_same_results(tmp_path: Path, call: str, copy: str, size: int) -> None:
    source = program(call, copy)
    after = fixed(source, "KL303")
    assert_same_results(tmp_path, source.replace("1 << 22", str(size)), after.replace("1 << 22", str(size)))


def test_a_kernel_that_is_launched_elsewhere_keeps_its_signature() -> None:
    other = "\n\ndef apart(w, g, out):\n    descend[(1,)](w, g, out, 5, 0.1, BLOCK=8)\n"
    after = fixed(program(CALLS["positional"], COPIES["copy_"]) + other, "KL303")
    assert "def descend(w_ptr, g_ptr, new_ptr, size" in after
    assert "(weight, grad, weight, size, 0.1, BLOCK=1024)" in after


def test_tuple_of_allocations() -> None:
    after = fixed(find_rule("KL303").bad, "KL303", header=False)
    assert "empty_like" not in after and HEADER.split("\n")[0] in after


def test_an_autotuned_kernel_is_left_alone() -> None:
    call = 'descend[lambda meta: (triton.cdiv(size, meta["BLOCK"]),)](weight, grad, result, size, 0.1)'
    source = program(call, COPIES["copy_"])
    decorator = (
        '@triton.autotune(configs=[triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 1024})], key=["size"])\n'
    )
    assert "autotuner" in refusal(source.replace("@triton.jit", decorator + "@triton.jit"), "KL303")
