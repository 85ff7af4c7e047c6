"""LARS step: layer-wise trust ratio, momentum, weight decay; flat float32 buffers."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norms_kernel(w_ptr, g_ptr, acc_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    w = tl.load(w_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    tl.atomic_add(acc_ptr, tl.sum(w * w))
    tl.atomic_add(acc_ptr + 1, tl.sum(g * g))


@triton.jit
def update_kernel(w_ptr, g_ptr, m_ptr, wo_ptr, mo_ptr, acc_ptr, n,
                  lr, momentum, weight_decay, eta, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    wn = tl.sqrt(tl.load(acc_ptr))
    gn = tl.sqrt(tl.load(acc_ptr + 1))
    trust = eta * wn / (gn + weight_decay * wn + 1e-9)
    trust = tl.where((wn > 0) & (gn > 0), trust, 1.0)
    w = tl.load(w_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    m = momentum * m + lr * trust * (g + weight_decay * w)
    tl.store(mo_ptr + offs, m, mask=mask)
    tl.store(wo_ptr + offs, w - m, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, sizes, lr, momentum, weight_decay, eta):
        super().__init__()
        self.sizes = list(sizes)
        self.lr, self.momentum, self.weight_decay, self.eta = lr, momentum, weight_decay, eta

    def forward(self, w, g, m):
        wo, mo = torch.empty_like(w), torch.empty_like(m)
        acc = torch.zeros(len(self.sizes), 2, device=w.device, dtype=torch.float32)
        start = 0
        for i, n in enumerate(self.sizes):
            end = start + n
            wi, gi, mi = w[start:end], g[start:end], m[start:end]
            grid = (triton.cdiv(n, 4096),)
            norms_kernel[grid](wi, gi, acc[i], n, BLOCK=4096, num_warps=8)
            update_kernel[grid](wi, gi, mi, wo[start:end], mo[start:end], acc[i], n,
                                self.lr, self.momentum, self.weight_decay, self.eta,
                                BLOCK=4096, num_warps=8)
            start = end
        return wo, mo
