import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lamb_moments(p_ptr, g_ptr, m_ptr, v_ptr, m_out, v_out, u_out, wsq_ptr, usq_ptr, n, n_parts,
                 beta1, beta2, eps, weight_decay, corr1, corr2, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    layer = tl.program_id(1)
    col = pid * BLOCK + tl.arange(0, BLOCK)
    mask = col < n
    offs = layer.to(tl.int64) * n + col
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    u = (m * corr1) / (tl.sqrt(v * corr2) + eps) + weight_decay * p
    tl.store(m_out + offs, m, mask=mask)
    tl.store(v_out + offs, v, mask=mask)
    tl.store(u_out + offs, u, mask=mask)
    # partial sums for the trust ratio
    tl.store(wsq_ptr + layer * n_parts + pid, tl.sum(p * p, axis=0))
    tl.store(usq_ptr + layer * n_parts + pid, tl.sum(u * u, axis=0))


@triton.jit
def lamb_apply(p_ptr, u_ptr, p_out, wsq_ptr, usq_ptr, n, n_parts, lr,
               BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid = tl.program_id(0)
    layer = tl.program_id(1)
    parts = tl.arange(0, PARTS)
    base = layer * n_parts
    w_norm = tl.sqrt(tl.sum(tl.load(wsq_ptr + base + parts, mask=parts < n_parts, other=0.0), axis=0))
    u_norm = tl.sqrt(tl.sum(tl.load(usq_ptr + base + parts, mask=parts < n_parts, other=0.0), axis=0))
    ratio = tl.where((w_norm > 0) & (u_norm > 0), w_norm / u_norm, 1.0)
    col = pid * BLOCK + tl.arange(0, BLOCK)
    mask = col < n
    offs = layer.to(tl.int64) * n + col
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    u = tl.load(u_ptr + offs, mask=mask, other=0.0)
    tl.store(p_out + offs, p - lr * ratio * u, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, weight_decay, beta1=0.9, beta2=0.999, eps=1e-6, step=10):
        super().__init__()
        self.lr, self.weight_decay = lr, weight_decay
        self.beta1, self.beta2, self.eps, self.step = beta1, beta2, eps, step

    def forward(self, params, grads, exp_avg, exp_avg_sq):
        layers, n = params.shape
        BLOCK = 2048
        n_parts = triton.cdiv(n, BLOCK)
        new_p, new_m, new_v = (torch.empty_like(params) for _ in range(3))
        update = torch.empty_like(params)
        norms = torch.empty((2, layers, n_parts), device=params.device, dtype=torch.float32)
        corr1 = 1.0 / (1.0 - self.beta1 ** self.step)
        corr2 = 1.0 / (1.0 - self.beta2 ** self.step)

        grid = (n_parts, layers)
        lamb_moments[grid](
            params, grads, exp_avg, exp_avg_sq, new_m, new_v, update,
            norms[0], norms[1], n, n_parts,
            self.beta1, self.beta2, self.eps, self.weight_decay, corr1, corr2,
            BLOCK=BLOCK, num_warps=8)
        lamb_apply[grid](
            params, update, new_p, norms[0], norms[1], n, n_parts, self.lr,
            BLOCK=BLOCK, PARTS=triton.next_power_of_2(n_parts), num_warps=8)
        return new_p, new_m, new_v
