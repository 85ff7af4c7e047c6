import torch
import torch.nn as nn
import triton
import triton.language as tl

XS, WS = 0.013, 0.007
TILE = dict(BM=128, BN=128, BK=64, num_warps=8, num_stages=3)


@triton.jit
def w8a8(xq, wq, out, m_total, n_total, k_total, x_scale, w_scale, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    num_n = tl.cdiv(n_total, BN)
    num_m = tl.cdiv(m_total, BM)
    pid = tl.program_id(0)
    width = 8 * num_n
    head = pid // width * 8
    height = tl.minimum(num_m - head, 8)
    rm = (head + pid % width % height) * BM + tl.arange(0, BM)
    rn = (pid % width // height) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k0 in tl.range(0, k_total, BK):
        inside = (k0 + rk) < k_total
        xt = tl.load(xq + rm[:, None] * k_total + (k0 + rk)[None, :], mask=(rm < m_total)[:, None] & inside[None, :], other=0)
        wt = tl.load(wq + rn[None, :] * k_total + (k0 + rk)[:, None], mask=(rn < n_total)[None, :] & inside[:, None], other=0)
        # dequantize on the fly
        xf = xt * x_scale
        wf = wt * w_scale
        acc += tl.dot(xf, wf)
    y = acc.to(tl.float16)
    tl.store(out + rm[:, None] * n_total + rn[None, :], y, mask=(rm < m_total)[:, None] & (rn < n_total)[None, :])


class ModelNew(nn.Module):
    def forward(self, xq, wq):
        m, k = xq.shape
        n, _ = wq.shape
        out = xq.new_empty((m, n), dtype=torch.float16)
        w8a8[(triton.cdiv(m, TILE["BM"]) * triton.cdiv(n, TILE["BN"]),)](xq, wq, out, m, n, k, XS, WS, **TILE)
        return out
