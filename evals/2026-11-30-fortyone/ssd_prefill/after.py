import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ssd_chunk_kernel(Q, K, V, LOG_A, SKIP, O, STATE, T,
                     H: tl.constexpr, N: tl.constexpr, P: tl.constexpr,
                     BLOCK_N: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_T: tl.constexpr):
    pid_p = tl.program_id(0)
    h = tl.program_id(1)
    b = tl.program_id(2).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    offs_p = pid_p * BLOCK_P + tl.arange(0, BLOCK_P)
    offs_i = tl.arange(0, BLOCK_T)
    n_ok = offs_n < N
    p_ok = offs_p < P
    skip = tl.load(SKIP + h)
    causal = offs_i[:, None] >= offs_i[None, :]
    state = tl.zeros([BLOCK_N, BLOCK_P], tl.float32)
    for t0 in range(0, T, BLOCK_T):
        t = t0 + offs_i
        t_ok = t < T
        row = (b * T + t) * H + h
        la = tl.load(LOG_A + row, mask=t_ok, other=0.0)
        cum = tl.cumsum(la, 0)
        total = tl.sum(la, 0)
        qk_mask = t_ok[:, None] & n_ok[None, :]
        v_mask = t_ok[:, None] & p_ok[None, :]
        q = tl.load(Q + row[:, None] * N + offs_n[None, :], mask=qk_mask, other=0.0)
        k = tl.load(K + row[:, None] * N + offs_n[None, :], mask=qk_mask, other=0.0)
        v = tl.load(V + row[:, None] * P + offs_p[None, :], mask=v_mask, other=0.0)
        # inside the chunk
        diff = tl.where(causal, cum[:, None] - cum[None, :], 0.0)
        s = tl.dot(q, tl.trans(k)) * tl.where(causal, tl.exp(diff), 0.0)
        o = tl.dot(s.to(tl.float16), v)
        # from the chunks before
        o += tl.dot(q, state.to(tl.float16)) * tl.exp(cum)[:, None]
        o += skip * v.to(tl.float32)
        tl.store(O + row[:, None] * P + offs_p[None, :], o.to(tl.float16), mask=v_mask)
        kd = (k.to(tl.float32) * tl.exp(total - cum)[:, None]).to(tl.float16)
        state = state * tl.exp(total) + tl.dot(tl.trans(kd), v)
    tl.store(STATE + ((b * H + h) * N + offs_n[:, None]) * P + offs_p[None, :], state,
             mask=n_ok[:, None] & p_ok[None, :])


class ModelNew(nn.Module):
    def __init__(self, h, n, p):
        super().__init__()
        self.h, self.n, self.p = h, n, p
        self.skip = nn.Parameter(torch.randn(h))

    def forward(self, q, k, v, log_a):
        b, t, h, n = q.shape
        p = v.shape[-1]
        o = torch.empty_like(v)
        state = torch.empty((b, h, n, p), device=q.device, dtype=torch.float32)
        block_p = 32
        ssd_chunk_kernel[(triton.cdiv(p, block_p), h, b)](
            q, k, v, log_a, self.skip, o, state, t, H=h, N=n, P=p,
            BLOCK_N=max(16, triton.next_power_of_2(n)), BLOCK_P=block_p, BLOCK_T=64, num_warps=4, num_stages=2)
        return o, state
