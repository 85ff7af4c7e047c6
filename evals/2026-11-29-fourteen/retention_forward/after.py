import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def retention_fwd_kernel(q_ptr, k_ptr, v_ptr, o_ptr, log2_decay_ptr,
                         H, T, scale,
                         DK: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BT: tl.constexpr):
    i_v = tl.program_id(0)
    i_bh = tl.program_id(1)
    lg = tl.load(log2_decay_ptr + i_bh % H)

    rt = tl.arange(0, BT)
    rk = tl.arange(0, DK)
    rv = i_v * BV + tl.arange(0, BV)
    dist = rt[:, None] - rt[None, :]
    inner = tl.where(dist >= 0, tl.exp2(tl.maximum(dist, 0).to(tl.float32) * lg), 0.0)
    from_start = tl.exp2((rt + 1).to(tl.float32) * lg)
    to_end = tl.exp2((BT - 1 - rt).to(tl.float32) * lg)
    whole = tl.exp2(BT * lg)

    state = tl.zeros((DK, BV), dtype=tl.float32)
    for start in range(0, T, BT):
        t = start + rt
        live = (t < T)[:, None]
        b_q = tl.load(q_ptr + (i_bh * T + t[:, None]) * DK + rk[None, :], mask=live, other=0.0)
        b_k = tl.load(k_ptr + (i_bh * T + t[:, None]) * DK + rk[None, :], mask=live, other=0.0)
        b_v = tl.load(v_ptr + (i_bh * T + t[:, None]) * DV + rv[None, :], mask=live, other=0.0)
        s = tl.dot(b_q, tl.trans(b_k)) * inner
        b_o = tl.dot(b_q, state.to(b_q.dtype)) * from_start[:, None]
        b_o += tl.dot(s.to(b_v.dtype), b_v)
        tl.store(o_ptr + (i_bh * T + t[:, None]) * DV + rv[None, :],
                 (b_o * scale).to(o_ptr.dtype.element_ty), mask=live)
        b_kd = (b_k.to(tl.float32) * to_end[:, None]).to(b_k.dtype)
        state = state * whole + tl.dot(tl.trans(b_kd), b_v)


class ModelNew(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.register_buffer("log2_decay", torch.log2(1.0 - 2.0 ** (-4.0 - torch.arange(heads) % 4)))

    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, H, T, DK = q.shape
        DV = v.shape[-1]
        o = torch.empty_like(v)
        BV = min(DV, 32)
        grid = (DV // BV, B * H)
        retention_fwd_kernel[grid](q, k, v, o, self.log2_decay, H, T, DK ** -0.5,
                                   DK=DK, DV=DV, BV=BV, BT=64, num_warps=4, num_stages=2)
        return o
