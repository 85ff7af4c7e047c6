import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lamb_moments_kernel(p_ptr, g_ptr, m_ptr, v_ptr, mo_ptr, vo_ptr, u_ptr, norm_ptr, n,
                        beta1, beta2, eps, wd, BLOCK: tl.constexpr):
    layer = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n
    offs = layer.to(tl.int64) * n + cols
    norm_ptr += 2 * layer
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = beta1 * tl.load(m_ptr + offs, mask=mask, other=0.0) + (1.0 - beta1) * g
    v = beta2 * tl.load(v_ptr + offs, mask=mask, other=0.0) + (1.0 - beta2) * g * g
    u = m / (tl.sqrt(v) + eps) + wd * p
    tl.store(mo_ptr + offs, m, mask=mask)
    tl.store(vo_ptr + offs, v, mask=mask)
    tl.store(u_ptr + offs, u, mask=mask)
    tl.atomic_add(norm_ptr, tl.sum(p * p, 0))
    tl.atomic_add(norm_ptr + 1, tl.sum(tl.where(mask, u * u, 0.0), 0))


@triton.jit
def lamb_apply_kernel(p_ptr, u_ptr, po_ptr, norm_ptr, n, lr, BLOCK: tl.constexpr):
    layer = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n
    offs = layer.to(tl.int64) * n + cols
    norm_ptr += 2 * layer
    pn = tl.sqrt(tl.load(norm_ptr))
    un = tl.sqrt(tl.load(norm_ptr + 1))
    ratio = tl.where((pn > 0.0) & (un > 0.0), pn / tl.maximum(un, 1e-30), 1.0)
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    u = tl.load(u_ptr + offs, mask=mask, other=0.0)
    tl.store(po_ptr + offs, p - lr * ratio * u, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, beta1, beta2, eps, wd):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.wd = lr, beta1, beta2, eps, wd

    def forward(self, p, g, m, v):
        layers, n = p.shape
        po, mo, vo, u = (torch.empty_like(p) for _ in range(4))
        norms = torch.zeros(layers, 2, device=p.device, dtype=torch.float32)
        BLOCK = 2048
        grid = (triton.cdiv(n, BLOCK), layers)
        lamb_moments_kernel[grid](p, g, m, v, mo, vo, u, norms, n,
                                  self.beta1, self.beta2, self.eps, self.wd, BLOCK=BLOCK, num_warps=8)
        lamb_apply_kernel[grid](p, u, po, norms, n, self.lr, BLOCK=BLOCK, num_warps=8)
        return po, mo, vo
