import torch
import torch.nn as nn
import triton
import triton.language as tl

MAX_PARTIALS = 528
BLOCK = 8192


@triton.jit
def absmax_kernel(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    # grid-stride maximum; one partial result per program, so nothing has to be zeroed first
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    best = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(pid * BLOCK, n, step):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
        best = tl.maximum(best, tl.abs(x))
    tl.store(part_ptr + pid, tl.max(best, axis=0))


@triton.jit
def quantise_kernel(x_ptr, part_ptr, q_ptr, scale_ptr, n, parts, BLOCK: tl.constexpr, BLOCK_P: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)

    p = tl.arange(0, BLOCK_P)
    amax = tl.max(tl.load(part_ptr + p, mask=p < parts, other=0.0), axis=0)
    scale = tl.maximum(amax, 1e-12) / 127.0
    if pid == 0:
        tl.store(scale_ptr, scale)

    # adding and taking away 1.5 * 2**23 rounds to the nearest even integer
    r = (x * (1.0 / scale) + 12582912.0) - 12582912.0
    r = tl.minimum(tl.maximum(r, -127.0), 127.0)
    tl.store(q_ptr + offs, r.to(tl.int8), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        tiles = triton.cdiv(n, BLOCK)
        parts = min(tiles, MAX_PARTIALS)
        partial = torch.empty((parts,), device=x.device, dtype=torch.float32)
        codes = torch.empty(x.shape, device=x.device, dtype=torch.int8)
        scale = torch.empty((1,), device=x.device, dtype=torch.float32)
        absmax_kernel[(parts,)](x, partial, n, BLOCK=BLOCK, num_warps=8)
        quantise_kernel[(tiles,)](
            x, partial, codes, scale, n, parts,
            BLOCK=BLOCK, BLOCK_P=triton.next_power_of_2(MAX_PARTIALS), num_warps=8,
        )
        return codes, scale
