"""Per-tensor symmetric int8 quantisation."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

NUM_PROGRAMS = 528


@triton.jit
def absmax_partial(x_ptr, part_ptr, numel, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    best = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(pid * BLOCK, numel, step):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < numel, other=0.0)
        best = tl.maximum(best, tl.abs(x.to(tl.float32)))
    tl.store(part_ptr + pid, tl.max(best, axis=0))


@triton.jit
def quantize(x_ptr, part_ptr, q_ptr, scale_ptr, numel, n_parts, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid = tl.program_id(0)
    p = tl.arange(0, PARTS)
    amax = tl.max(tl.load(part_ptr + p, mask=p < n_parts, other=0.0), axis=0)
    scale = tl.maximum(amax, 1e-8) / 127.0
    if pid == 0:
        tl.store(scale_ptr, scale)
    inv = 1.0 / scale
    step = tl.num_programs(0) * BLOCK
    for start in range(pid * BLOCK, numel, step):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < numel
        x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        q = tl.floor(x * inv + 0.5)
        q = tl.minimum(tl.maximum(q, -127.0), 127.0)
        tl.store(q_ptr + offs, q.to(tl.int8), mask=mask)


def quantize_per_tensor(x: torch.Tensor):
    x = x.contiguous()
    numel = x.numel()
    BLOCK = 8192
    n = min(NUM_PROGRAMS, triton.cdiv(numel, BLOCK))
    parts = torch.empty(n, device=x.device, dtype=torch.float32)
    q = torch.empty(x.shape, device=x.device, dtype=torch.int8)
    scale = torch.empty((), device=x.device, dtype=torch.float32)
    absmax_partial[(n,)](x, parts, numel, BLOCK=BLOCK, num_warps=8)
    quantize[(n,)](x, parts, q, scale, numel, n, BLOCK=BLOCK, PARTS=triton.next_power_of_2(n), num_warps=8)
    return q, scale


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return quantize_per_tensor(x)
