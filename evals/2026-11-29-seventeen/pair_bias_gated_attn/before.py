import torch
import torch.nn as nn
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def pair_bias_attn_fwd(
    q_ptr, k_ptr, v_ptr, bias_ptr, gate_ptr, out_ptr,
    scale,
    sh_stride,            # stride between (sample, head) slices of q/k/v/gate/out
    bias_h_stride, bias_q_stride,
    N, H,
    D: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_q = tl.program_id(0)
    pid_sh = tl.program_id(1)
    h = pid_sh % H
    base = pid_sh.to(tl.int64) * sh_stride

    offs_q = pid_q * BLOCK_Q + tl.arange(0, BLOCK_Q)
    offs_d = tl.arange(0, D)
    q_mask = offs_q < N
    qd = offs_q[:, None] * D + offs_d[None, :]

    # softmax is done in fp32
    q = tl.load(q_ptr + base + qd, mask=q_mask[:, None], other=0.0).to(tl.float32)
    q = q * scale

    m = tl.full((BLOCK_Q,), -1e30, tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, D), tl.float32)

    for start in range(0, N, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        k_mask = offs_k < N
        kd = offs_k[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + base + kd, mask=k_mask[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + base + kd, mask=k_mask[:, None], other=0.0).to(tl.float32)
        b = tl.load(
            bias_ptr + h * bias_h_stride + offs_q[:, None] * bias_q_stride + offs_k[None, :],
            mask=q_mask[:, None] & k_mask[None, :], other=0.0,
        ).to(tl.float32)

        s = (tl.dot(q, tl.trans(k)) + b) * LOG2E
        s = tl.where(k_mask[None, :], s, -1e30)
        m_new = tl.maximum(m, tl.max(s, axis=1))
        corr = tl.exp2(m - m_new)
        p = tl.exp2(s - m_new[:, None])
        l = l * corr + tl.sum(p, axis=1)
        acc = acc * corr[:, None] + tl.dot(p, v)
        m = m_new

    g = tl.load(gate_ptr + base + qd, mask=q_mask[:, None], other=0.0).to(tl.float32)
    out = tl.sigmoid(g) * (acc / l[:, None])
    tl.store(out_ptr + base + qd, out.to(out_ptr.dtype.element_ty), mask=q_mask[:, None])


class ModelNew(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.scale = head_dim ** -0.5

    def forward(self, q, k, v, pair_bias, gate):
        q, k, v, gate = q.contiguous(), k.contiguous(), v.contiguous(), gate.contiguous()
        pair_bias = pair_bias.contiguous()
        S, H, N, D = q.shape
        out = torch.empty_like(q)
        BLOCK_Q, BLOCK_K = 64, 64
        pair_bias_attn_fwd[(triton.cdiv(N, BLOCK_Q), S * H)](
            q, k, v, pair_bias, gate, out,
            self.scale,
            N * D,
            pair_bias.stride(0), pair_bias.stride(1),
            N, H, D, BLOCK_Q, BLOCK_K,
            num_warps=4, num_stages=3,
        )
        return out
