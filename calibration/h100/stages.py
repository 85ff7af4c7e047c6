"""Row loops by the number of stages: what ``tl.range(num_stages=...)`` gains or costs, with registers, spills and shared memory.

    python stages.py > ../facts/h100-row-stages.csv    # needs a GPU, 2 minutes

``masked`` rows are no multiple of 16 elements long, so that nothing tells the compiler that they are aligned; ``carried``
says what the loop carries: a sum, also a sum of squares, also a running maximum of exponentials.
"""

from __future__ import annotations

import itertools

import torch
import triton
import triton.language as tl
from triton.testing import do_bench_cudagraph

_ELEMENTS = 1 << 22
_BLOCKS = [(256, 4), (1024, 4), (2048, 4), (4096, 4), (4096, 8), (8192, 4), (8192, 8), (16384, 8), (16384, 16)]


@triton.jit
def row_loop(x, y, cols, BLOCK: tl.constexpr, STAGES: tl.constexpr, MASKED: tl.constexpr, CARRIED: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    first = tl.zeros((BLOCK,), tl.float32)
    second = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, cols, BLOCK, num_stages=STAGES):
        if MASKED:
            value = tl.load(x + row * cols + start + lanes, mask=start + lanes < cols, other=0.0).to(tl.float32)
        else:
            value = tl.load(x + row * cols + start + lanes).to(tl.float32)
        first += value
        if CARRIED == 1:
            second += value * value
        if CARRIED == 2:
            second = tl.maximum(second, tl.exp(value) * first)
    total = tl.sum(first, 0)
    if CARRIED:
        total += tl.sum(second, 0)
    tl.store(y + row, total)


def main() -> None:
    device = torch.cuda.get_device_name()
    print("device,term,params,gpu_us,regs,spills,shared_bytes")
    cases = itertools.product(("float32", "bfloat16"), (8, 64, 128), _BLOCKS, (0, 1), (0, 1, 2))
    for dtype, rows, (block, warps), masked, carried in cases:
        if carried == 2 and not masked:
            continue
        cols = _ELEMENTS // rows - 100 * masked
        x = torch.randn(rows, cols, device="cuda").to(getattr(torch, dtype))
        y = torch.empty(rows, device="cuda")
        for stages in (1, 2, 3):

            def call(x=x, y=y, fixed=(cols, block, stages, masked, carried), rows=rows, warps=warps):
                return row_loop[(rows,)](x, y, *fixed, num_warps=warps)

            binary = call()
            us = 1e3 * do_bench_cudagraph(call, rep=15)
            params = f"rows={rows};cols={cols};dtype={dtype};BLOCK={block};num_warps={warps};masked={masked}"
            params += f";carried={carried};stages={stages}"
            numbers = f"{us:.2f},{binary.n_regs},{binary.n_spills},{binary.metadata.shared}"
            print(f"{device},row_loop_stages,{params},{numbers}", flush=True)


if __name__ == "__main__":
    main()
