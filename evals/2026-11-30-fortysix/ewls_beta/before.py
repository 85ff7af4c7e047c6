import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ewls_kernel(
    r_ptr, m_ptr, w_ptr,
    alpha_ptr, beta_ptr, resid_ptr,
    A, T,
    BLOCK_A: tl.constexpr, BLOCK_T: tl.constexpr,
):
    assets = tl.program_id(0) * BLOCK_A + tl.arange(0, BLOCK_A)
    a_mask = assets < A
    row = assets.to(tl.int64)[:, None] * T

    s_r = tl.zeros((BLOCK_A, BLOCK_T), dtype=tl.float64)
    s_rr = tl.zeros((BLOCK_A, BLOCK_T), dtype=tl.float64)
    s_rm = tl.zeros((BLOCK_A, BLOCK_T), dtype=tl.float64)
    s_m = tl.zeros((BLOCK_T,), dtype=tl.float64)
    s_mm = tl.zeros((BLOCK_T,), dtype=tl.float64)

    for start in range(0, T, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)
        t_mask = t < T
        m = tl.load(m_ptr + t, mask=t_mask, other=0.0)
        w = tl.load(w_ptr + t, mask=t_mask, other=0.0)
        r = tl.load(r_ptr + row + t[None, :], mask=a_mask[:, None] & t_mask[None, :], other=0.0)
        wm = w * m
        wr = r * w[None, :]
        s_m += wm
        s_mm += wm * m
        s_r += wr
        s_rr += wr * r
        s_rm += wr * m[None, :]

    m_mean = tl.sum(s_m, axis=0)
    m_var = tl.sum(s_mm, axis=0) - m_mean * m_mean
    r_mean = tl.sum(s_r, axis=1)
    r_var = tl.sum(s_rr, axis=1) - r_mean * r_mean
    cov = tl.sum(s_rm, axis=1) - r_mean * m_mean

    beta = cov / m_var
    alpha = r_mean - beta * m_mean
    resid = tl.sqrt(tl.maximum(r_var - beta * cov, 0.0))
    tl.store(alpha_ptr + assets, alpha, mask=a_mask)
    tl.store(beta_ptr + assets, beta, mask=a_mask)
    tl.store(resid_ptr + assets, resid, mask=a_mask)


class ModelNew(nn.Module):
    def __init__(self, days, halflife):
        super().__init__()
        age = torch.arange(days - 1, -1, -1, dtype=torch.float64)
        w = torch.pow(torch.tensor(0.5, dtype=torch.float64), age / halflife)
        self.register_buffer("weight", w / w.sum())

    def forward(self, returns, market):
        returns = returns.contiguous()
        A, T = returns.shape
        alpha = torch.empty((A,), device=returns.device, dtype=torch.float64)
        beta = torch.empty_like(alpha)
        resid = torch.empty_like(alpha)
        BLOCK_A = 8
        ewls_kernel[(triton.cdiv(A, BLOCK_A),)](
            returns, market.contiguous(), self.weight, alpha, beta, resid, A, T,
            BLOCK_A=BLOCK_A, BLOCK_T=128, num_warps=4,
        )
        return alpha, beta, resid
