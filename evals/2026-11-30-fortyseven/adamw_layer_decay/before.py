"""Fused AdamW step with layer-wise lr decay over a flat parameter buffer."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

ALIGN = 16


@triton.jit
def _adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, p_out, m_out, v_out,
    start, n, lr, wd, beta1, beta2, eps, inv_c1, inv_c2,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    offs = start + i
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    update = (m * inv_c1) / (tl.sqrt(v * inv_c2) + eps)
    p = p * (1.0 - lr * wd) - lr * update
    tl.store(p_out + offs, p, mask=mask)
    tl.store(m_out + offs, m, mask=mask)
    tl.store(v_out + offs, v, mask=mask)


def block_shapes(dim):
    return [(dim,), (dim,), (3 * dim, dim), (3 * dim,), (dim, dim), (dim,),
            (dim,), (dim,), (4 * dim, dim), (4 * dim,), (dim, 4 * dim), (dim,)]


def segments(dim, layers, decay):
    out, offset = [], 0
    for layer in range(layers):
        scale = decay ** (layers - 1 - layer)
        for shape in block_shapes(dim):
            n = 1
            for s in shape:
                n *= s
            n = triton.cdiv(n, ALIGN) * ALIGN
            out.append((offset, n, scale, len(shape) > 1))
            offset += n
    return out, offset


class ModelNew(nn.Module):
    BLOCK = 2048

    def __init__(self, dim, layers, lr=1e-2, decay=0.75, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.05):
        super().__init__()
        self.segments, self.total = segments(dim, layers, decay)
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay

    def forward(self, param, grad, exp_avg, exp_avg_sq, step):
        inv_c1 = 1.0 / (1 - self.beta1 ** step)
        inv_c2 = 1.0 / (1 - self.beta2 ** step)
        new_p = torch.empty_like(param)
        new_m = torch.empty_like(exp_avg)
        new_v = torch.empty_like(exp_avg_sq)
        for start, n, scale, decayed in self.segments:
            lr = self.lr * scale
            wd = self.weight_decay if decayed else 0.0
            _adamw_kernel[(triton.cdiv(n, self.BLOCK),)](
                param, grad, exp_avg, exp_avg_sq, new_p, new_m, new_v,
                start, n, lr, wd, self.beta1, self.beta2, self.eps, inv_c1, inv_c2,
                BLOCK=self.BLOCK, num_warps=4,
            )
        return new_p, new_m, new_v
