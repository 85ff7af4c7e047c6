import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def adan_kernel(
    p_ptr, g_ptr, pg_ptr, m_ptr, v_ptr, n_ptr,
    p_out, m_out, v_out, n_out,
    numel,
    lr, beta1, beta2, beta3, eps, decay_div,
    bias1, bias2, bias3_sqrt,
    BLOCK: tl.constexpr,
):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = idx < numel

    p = tl.load(p_ptr + idx, mask=ok)
    g = tl.load(g_ptr + idx, mask=ok).to(tl.float32)
    pg = tl.load(pg_ptr + idx, mask=ok).to(tl.float32)
    m = tl.load(m_ptr + idx, mask=ok)
    v = tl.load(v_ptr + idx, mask=ok)
    n = tl.load(n_ptr + idx, mask=ok)

    diff = g - pg
    m = m * beta1 + g * (1.0 - beta1)
    v = v * beta2 + diff * (1.0 - beta2)
    u = g + beta2 * diff
    n = n * beta3 + u * u * (1.0 - beta3)

    denom = tl.sqrt(n) / bias3_sqrt + eps
    update = (m / bias1 + beta2 * v / bias2) / denom
    p = (p - lr * update) / decay_div

    tl.store(p_out + idx, p, mask=ok)
    tl.store(m_out + idx, m, mask=ok)
    tl.store(v_out + idx, v, mask=ok)
    tl.store(n_out + idx, n, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, lr, beta1, beta2, beta3, eps, weight_decay, step):
        super().__init__()
        self.lr, self.eps, self.weight_decay = lr, eps, weight_decay
        self.betas = (beta1, beta2, beta3)
        self.bias = (1 - beta1**step, 1 - beta2**step, math.sqrt(1 - beta3**step))

    def forward(self, param, grad, prev_grad, exp_avg, exp_avg_diff, exp_avg_sq):
        numel = param.numel()
        p, m, v, n = (torch.empty_like(param) for _ in range(4))
        BLOCK = 1024
        grid = (triton.cdiv(numel, BLOCK),)
        adan_kernel[grid](
            param, grad, prev_grad, exp_avg, exp_avg_diff, exp_avg_sq,
            p, m, v, n,
            numel,
            self.lr, *self.betas, self.eps, 1 + self.lr * self.weight_decay,
            *self.bias,
            BLOCK=BLOCK, num_warps=4,
        )
        return p, m, v, n
