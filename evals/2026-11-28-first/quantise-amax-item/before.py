import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, q_ptr, scale, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    v = x / scale
    v = tl.floor(tl.abs(v) + 0.5) * tl.where(v < 0, -1.0, 1.0)
    v = tl.minimum(tl.maximum(v, -127.0), 127.0)
    tl.store(q_ptr + i, v.to(tl.int8), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        q = torch.empty_like(x, dtype=torch.int8)
        scale = x.abs().max().item() / 127.0
        quantise[(triton.cdiv(x.numel(), 4096),)](x, q, scale, x.numel(), B=4096, num_warps=8)
        return q, torch.tensor(scale, device=x.device)
