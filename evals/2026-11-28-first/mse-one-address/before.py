import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mse_kernel(p, t, loss, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(p + i, mask=i < n, other=0.0) - tl.load(t + i, mask=i < n, other=0.0)
    tl.atomic_add(loss, tl.sum(d * d) / n)


class ModelNew(nn.Module):
    def forward(self, pred, target):
        n = pred.numel()
        loss = torch.zeros((), device=pred.device)
        mse_kernel[(triton.cdiv(n, 256),)](pred, target, loss, n, BLOCK=256)
        return loss
