"""Fused AdamW step with layer-wise lr decay over a flat parameter buffer."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

ALIGN = 16


@triton.jit
def _adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, p_out, m_out, v_out,
    chunk_ptr, hyper_ptr, beta1, beta2, eps, inv_c1, inv_c2,
    BLOCK: tl.constexpr,
):
    # One program per chunk of some tensor; the tables say where it lies and how it is treated.
    c = tl.program_id(0)
    start = tl.multiple_of(tl.load(chunk_ptr + 2 * c), 16)
    n = tl.multiple_of(tl.load(chunk_ptr + 2 * c + 1), 16)
    lr = tl.load(hyper_ptr + 2 * c)
    wd = tl.load(hyper_ptr + 2 * c + 1)
    i = tl.arange(0, BLOCK)
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
        chunks, hyper = [], []
        for start, n, scale, decayed in self.segments:
            for off in range(0, n, self.BLOCK):
                chunks.append((start + off, min(self.BLOCK, n - off)))
                hyper.append((lr * scale, weight_decay if decayed else 0.0))
        self.register_buffer("chunks", torch.tensor(chunks, dtype=torch.int32), persistent=False)
        self.register_buffer("hyper", torch.tensor(hyper, dtype=torch.float32), persistent=False)

    def forward(self, param, grad, exp_avg, exp_avg_sq, step):
        inv_c1 = 1.0 / (1 - self.beta1 ** step)
        inv_c2 = 1.0 / (1 - self.beta2 ** step)
        new_p = torch.empty_like(param)
        new_m = torch.empty_like(exp_avg)
        new_v = torch.empty_like(exp_avg_sq)
        _adamw_kernel[(self.chunks.shape[0],)](
            param, grad, exp_avg, exp_avg_sq, new_p, new_m, new_v,
            self.chunks, self.hyper, self.beta1, self.beta2, self.eps, inv_c1, inv_c2,
            BLOCK=self.BLOCK, num_warps=4,
        )
        return new_p, new_m, new_v
