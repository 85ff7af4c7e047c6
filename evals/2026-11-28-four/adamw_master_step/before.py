import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, step_ptr,
    p_out, m_out, v_out, half_out,
    n,
    lr, beta1, beta2, log2_beta1, log2_beta2, eps, weight_decay,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n

    # the step counter stays on the device
    step = tl.load(step_ptr)
    correction1 = 1.0 - tl.exp2(step * log2_beta1)
    correction2 = 1.0 - tl.exp2(step * log2_beta2)

    g = tl.load(g_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)

    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    update = (m / correction1) / (tl.sqrt_rn(v / correction2) + eps)
    p = p * (1.0 - lr * weight_decay) - lr * update

    tl.store(m_out + offs, m, mask=mask)
    tl.store(v_out + offs, v, mask=mask)
    tl.store(p_out + offs, p, mask=mask)
    tl.store(half_out + offs, p.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, beta1, beta2, eps, weight_decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay

    def forward(self, master, grad, exp_avg, exp_avg_sq, step):
        n = master.numel()
        p, m, v = torch.empty_like(master), torch.empty_like(exp_avg), torch.empty_like(exp_avg_sq)
        half = torch.empty(master.shape, device=master.device, dtype=torch.float16)
        grid = (triton.cdiv(n, 1024),)
        adamw_kernel[grid](
            master, grad, exp_avg, exp_avg_sq, step,
            p, m, v, half,
            n,
            self.lr, self.beta1, self.beta2, math.log2(self.beta1), math.log2(self.beta2), self.eps, self.weight_decay,
            BLOCK=1024,
            num_warps=4,
        )
        return p, m, v, half
