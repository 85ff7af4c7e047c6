"""A program stores a tile and loads a single element of it: no barrier stands between the two in the compiled code.

    python read_back_without_barrier.py

Stands for `_fwd_kernel_ep_scatter_1` (ep_moe_kernels.py) of sglang. Compiled for sm_90, which needs no GPU.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile


@triton.jit
def scatter(counts, starts, out, BARRIER: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    count = tl.load(counts + i)
    tl.store(starts + i, tl.cumsum(count) - count)
    if BARRIER:
        tl.debug_barrier()
    tl.store(out + tl.program_id(0), tl.load(starts + tl.program_id(0)))


def barriers_between(barrier):
    """Barriers between the store of the tile and the load that follows it."""
    types = {"counts": "*i32", "starts": "*i32", "out": "*i32", "BARRIER": "constexpr", "N": "constexpr"}
    source = ASTSource(scatter, types, constexprs={"BARRIER": barrier, "N": 256})
    ptx = compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8}).asm["ptx"]
    lines = [line.strip() for line in ptx.splitlines()]
    stores = [n for n, line in enumerate(lines) if "st.global" in line]
    loads = [n for n, line in enumerate(lines) if "ld.global" in line]
    first = stores[0]
    after = next(n for n in loads if n > first)
    return sum("bar.sync" in line for line in lines[first:after])


print("without tl.debug_barrier():", barriers_between(False), "barriers between store and load")
print("with tl.debug_barrier():   ", barriers_between(True))
assert barriers_between(False) == 0 and barriers_between(True) >= 1
