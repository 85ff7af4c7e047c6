import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _group_kernel(hour_ptr, amount_ptr, acc_ptr, N, K: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < N
    h = tl.load(hour_ptr + offs, mask=mask, other=0)
    a = tl.load(amount_ptr + offs, mask=mask, other=0.0)
    v = tl.log(1.0 + a)
    tl.atomic_add(acc_ptr + h, v, mask=mask)
    tl.atomic_add(acc_ptr + K + h, tl.full((BLOCK,), 1.0, tl.float32), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, hour, amount):
        n = hour.numel()
        acc = torch.zeros((2, self.k), device=amount.device, dtype=torch.float32)
        BLOCK = 1024
        _group_kernel[(triton.cdiv(n, BLOCK),)](hour, amount, acc, n, K=self.k, BLOCK=BLOCK, num_warps=4)
        return acc[0] / acc[1].clamp(min=1.0), acc[1]
