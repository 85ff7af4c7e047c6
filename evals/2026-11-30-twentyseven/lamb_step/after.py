"""LAMB step in two launches for all the layers (second grid axis = layer): moments + update direction + norms, then the step scaled by the layer's trust ratio."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

LR, BETA1, BETA2, EPS, WD = 2e-3, 0.9, 0.999, 1e-6, 0.01


@triton.jit
def lamb_moments_kernel(p_ptr, g_ptr, m_ptr, v_ptr, m_out_ptr, v_out_ptr, u_ptr, norm_ptr, n,
                        beta1, beta2, eps, wd, corr1, corr2, BLOCK: tl.constexpr):
    layer = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n
    offs = layer.to(tl.int64) * n + cols
    norm_ptr += layer * 2
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    u = (m * corr1) / (tl.sqrt(v * corr2) + eps) + wd * p
    tl.store(m_out_ptr + offs, m, mask=mask)
    tl.store(v_out_ptr + offs, v, mask=mask)
    tl.store(u_ptr + offs, u, mask=mask)
    tl.atomic_add(norm_ptr, tl.sum(p * p, axis=0))
    tl.atomic_add(norm_ptr + 1, tl.sum(u * u, axis=0))


@triton.jit
def lamb_apply_kernel(p_ptr, u_ptr, norm_ptr, out_ptr, n, lr, BLOCK: tl.constexpr):
    layer = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n
    offs = layer.to(tl.int64) * n + cols
    norm_ptr += layer * 2
    wn = tl.sqrt(tl.load(norm_ptr))
    un = tl.sqrt(tl.load(norm_ptr + 1))
    ratio = tl.where((wn > 0) & (un > 0), wn / un, 1.0)
    p = tl.load(p_ptr + offs, mask=mask)
    u = tl.load(u_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, p - lr * ratio * u, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, layers=192, n=65536):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(layers, n))

    def forward(self, grad, m, v, step):
        p = self.weight.detach()
        layers, n = p.shape
        p_out, m_out, v_out, u = (torch.empty_like(p) for _ in range(4))
        norms = torch.zeros((layers, 2), device=p.device, dtype=torch.float32)
        corr1 = 1.0 / (1.0 - BETA1 ** step)
        corr2 = 1.0 / (1.0 - BETA2 ** step)
        BLOCK = 2048
        grid = (triton.cdiv(n, BLOCK), layers)
        lamb_moments_kernel[grid](
            p, grad, m, v, m_out, v_out, u, norms, n,
            BETA1, BETA2, EPS, WD, corr1, corr2, BLOCK=BLOCK, num_warps=4,
        )
        lamb_apply_kernel[grid](p, u, norms, p_out, n, LR, BLOCK=BLOCK, num_warps=4)
        return p_out, m_out, v_out
