"""A kernel promises that its program's number is positive, which that of the first program is not: what only that program does is dropped.

    python assumption_false_for_program_0.py

Stands for `_static_per_tensor_quant_fp8_i8_kernel` and others of aiter (quant.py, fused_gemm_a8w8_blockscale_split_cat.py,
fused_gemm_afp4wfp4_split_cat.py). Compiled for sm_90, which needs no GPU.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile


@triton.jit
def first(y, PROMISED: tl.constexpr):
    pid = tl.program_id(0)
    if PROMISED:
        tl.assume(pid > 0)
    else:
        tl.assume(pid >= 0)
    tl.store(y + pid, tl.where(pid == 0, 25.0, 1.0))


def has_its_value(promised):
    """Whether the compiled code has the 25 (0f41C80000) that program 0 is to store."""
    source = ASTSource(first, {"y": "*fp32", "PROMISED": "constexpr"}, constexprs={"PROMISED": promised})
    ptx = compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    return any(number in ptx for number in ("0f41C80000", "1103626240", "0x41C80000"))


print("with tl.assume(pid >= 0):", "25 is stored" if has_its_value(False) else "no 25 in the code")
print("with tl.assume(pid > 0): ", "25 is stored" if has_its_value(True) else "no 25 in the code")
assert has_its_value(False) and not has_its_value(True)
