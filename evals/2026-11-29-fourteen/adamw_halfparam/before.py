import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_correction(beta, t):
    return 1.0 - tl.exp2(t * tl.log2(beta))


@triton.jit
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr,
    p_out_ptr, m_out_ptr, v_out_ptr,
    step_ptr, norm_ptr,
    lr, beta1, beta2, eps, weight_decay,
    n,
    BLOCK_SIZE: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n

    p = tl.load(p_ptr + offs, mask=mask).to(tl.float32)
    g = tl.load(g_ptr + offs, mask=mask).to(tl.float32)
    m = tl.load(m_ptr + offs, mask=mask)
    v = tl.load(v_ptr + offs, mask=mask)

    # step and norm live on the device, so no host sync
    t = tl.load(step_ptr).to(tl.float32)
    norm = tl.load(norm_ptr)
    g = g * tl.minimum(1.0 / (norm + 1e-6), 1.0)

    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    m_hat = m / bias_correction(beta1, t)
    v_hat = v / bias_correction(beta2, t)

    p = p * (1.0 - lr * weight_decay)
    p = p - lr * m_hat / (tl.sqrt(v_hat) + eps)

    tl.store(p_out_ptr + offs, p.to(tl.float16), mask=mask)
    tl.store(m_out_ptr + offs, m, mask=mask)
    tl.store(v_out_ptr + offs, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, weight_decay):
        super().__init__()
        self.lr = lr
        self.weight_decay = weight_decay
        self.beta1 = 0.9
        self.beta2 = 0.95
        self.eps = 1e-8

    def forward(self, param, grad, exp_avg, exp_avg_sq, step, grad_norm):
        n = param.numel()
        p_out = torch.empty_like(param)
        m_out = torch.empty_like(exp_avg)
        v_out = torch.empty_like(exp_avg_sq)
        BLOCK_SIZE = 1024
        adamw_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            param, grad, exp_avg, exp_avg_sq, p_out, m_out, v_out, step, grad_norm,
            self.lr, self.beta1, self.beta2, self.eps, self.weight_decay, n,
            BLOCK_SIZE=BLOCK_SIZE,
        )
        return p_out, m_out, v_out
