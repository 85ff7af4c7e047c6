import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def recurrent_kernel(q_ptr, k_ptr, v_ptr, gate_ptr, bias_ptr, o_ptr, state_ptr, T, H, scale,
                     DK: tl.constexpr, DV: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr):
    bh = tl.program_id(1)
    b = (bh // H).to(tl.int64)
    h = bh % H
    dk = tl.arange(0, BLOCK_K)
    dv = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    k_ok = dk < DK
    v_ok = dv < DV
    bias = tl.load(bias_ptr + h)

    q_ptrs = q_ptr + (b * T * H + h) * DK + dk
    k_ptrs = k_ptr + (b * T * H + h) * DK + dk
    v_ptrs = v_ptr + (b * T * H + h) * DV + dv
    o_ptrs = o_ptr + (b * T * H + h) * DV + dv
    gate_ptr += b * T * H + h

    # the state stays in registers for the whole sequence
    s = tl.zeros((BLOCK_K, BLOCK_V), tl.float32)
    for t in range(0, T):
        q = tl.load(q_ptrs, mask=k_ok, other=0.0).to(tl.float32) * scale
        k = tl.load(k_ptrs, mask=k_ok, other=0.0).to(tl.float32)
        v = tl.load(v_ptrs, mask=v_ok, other=0.0).to(tl.float32)
        a = tl.sigmoid(tl.load(gate_ptr) + bias)
        s = a * s + k[:, None] * v[None, :]
        o = tl.sum(q[:, None] * s, axis=0)
        tl.store(o_ptrs, o.to(tl.float16), mask=v_ok)
        q_ptrs += H * DK
        k_ptrs += H * DK
        v_ptrs += H * DV
        o_ptrs += H * DV
        gate_ptr += H
    tl.store(state_ptr + (bh.to(tl.int64) * DK + dk[:, None]) * DV + dv[None, :], s, mask=k_ok[:, None] & v_ok[None, :])


class ModelNew(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.gate_bias = nn.Parameter(torch.linspace(2.0, 5.0, heads))

    def forward(self, q, k, v, gate):
        B, T, H, DK = q.shape
        DV = v.shape[-1]
        o = torch.empty_like(v)
        state = torch.empty((B, H, DK, DV), device=q.device, dtype=torch.float32)
        BLOCK_K, BLOCK_V = triton.next_power_of_2(DK), 16
        recurrent_kernel[(triton.cdiv(DV, BLOCK_V), B * H)](
            q, k, v, gate, self.gate_bias, o, state, T, H, DK ** -0.5,
            DK=DK, DV=DV, BLOCK_K=BLOCK_K, BLOCK_V=BLOCK_V, num_warps=1)
        return o, state
