"""A program stores a tile and loads blocks of it: threads read what others have stored, with no barrier between.

    python tile_read_back_in_parts.py

Stands for `chunk_gated_delta_rule_fused_cumsum_kkt_solve_tril_kernel` (fused_cumsum_kkt_solve_tril.py) of flag-gems, which joins two
kernels and keeps the buffer between them. Compiled for sm_90, which needs no GPU.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile


@triton.jit
def lower_inverse(x, a, out, BARRIER: tl.constexpr, BT: tl.constexpr):
    o_t, o_i = tl.arange(0, BT), tl.arange(0, 16)
    place = o_t[:, None] * BT + o_t[None, :]
    tl.store(a + place, tl.where(o_t[:, None] > o_t[None, :], tl.load(x + place), 0.0))
    if BARRIER:
        tl.debug_barrier()
    block = (16 + o_i[:, None]) * BT + 16 + o_i[None, :]
    tl.store(out + o_i[:, None] * 16 + o_i[None, :], -tl.load(a + block))


def barriers_between(barrier):
    """Barriers between the last store of the tile and the first load of a block of it."""
    types = {"x": "*fp32", "a": "*fp32", "out": "*fp32", "BARRIER": "constexpr", "BT": "constexpr"}
    source = ASTSource(lower_inverse, types, constexprs={"BARRIER": barrier, "BT": 64})
    ptx = compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm["ptx"]
    lines = [line.strip() for line in ptx.splitlines()]
    stores = [n for n, line in enumerate(lines) if "st.global" in line]
    last_load = max(n for n, line in enumerate(lines) if "ld.global" in line)
    of_tile = max(n for n in stores if n < last_load)
    return sum("bar.sync" in line for line in lines[of_tile:last_load])


print("without tl.debug_barrier():", barriers_between(False), "barriers between store and load")
print("with tl.debug_barrier():   ", barriers_between(True))
assert barriers_between(False) == 0 and barriers_between(True) >= 1
