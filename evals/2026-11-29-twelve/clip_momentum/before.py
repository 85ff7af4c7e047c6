import torch
import torch.nn as nn
import triton
import triton.language as tl

NUM_PARTIALS = 1024


@triton.jit
def sumsq_partial(g_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(pid * BLOCK, n, step):
        offs = start + tl.arange(0, BLOCK)
        g = tl.load(g_ptr + offs, mask=offs < n, other=0.0)
        acc += g * g
    tl.store(partial_ptr + pid, tl.sum(acc, axis=0))


@triton.jit
def momentum_step(
    p_ptr, g_ptr, m_ptr, partial_ptr, p_out, m_out,
    n, lr, momentum, decay, max_norm,
    NUM_PARTIALS: tl.constexpr, BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)

    partials = tl.load(partial_ptr + tl.arange(0, NUM_PARTIALS))
    norm = tl.sqrt(tl.sum(partials, axis=0))
    coef = tl.minimum(max_norm / (norm + 1e-6), 1.0)

    m = momentum * m + coef * g
    p = p * decay - lr * m
    tl.store(m_out + offs, m, mask=mask)
    tl.store(p_out + offs, p, mask=mask)


def clipped_sgd(param, grad, buf, lr, momentum, weight_decay, max_norm):
    n = param.numel()
    partial = torch.empty((NUM_PARTIALS,), device=grad.device, dtype=torch.float32)
    new_p = torch.empty_like(param)
    new_m = torch.empty_like(buf)
    sumsq_partial[(NUM_PARTIALS,)](grad, partial, n, BLOCK=2048, num_warps=8)
    BLOCK = 4096
    momentum_step[(triton.cdiv(n, BLOCK),)](
        param, grad, buf, partial, new_p, new_m,
        n, lr, momentum, 1.0 - lr * weight_decay, max_norm,
        NUM_PARTIALS=NUM_PARTIALS, BLOCK=BLOCK, num_warps=8,
    )
    return new_p, new_m


class ModelNew(nn.Module):
    def __init__(self, lr, momentum, weight_decay, max_norm):
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.max_norm = max_norm

    def forward(self, param, grad, buf):
        return clipped_sgd(param, grad, buf, self.lr, self.momentum, self.weight_decay, self.max_norm)
