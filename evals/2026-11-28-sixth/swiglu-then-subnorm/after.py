import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _silu(v):
    return v / (1.0 + tl.exp(-v))


@triton.jit
def gated_rms_kernel(gate_up, weight, out, inner, eps, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < inner
    g = tl.load(gate_up + token * 2 * inner + col, mask=ok, other=0.0).to(tl.float32)
    u = tl.load(gate_up + token * 2 * inner + inner + col, mask=ok, other=0.0).to(tl.float32)
    v = _silu(g) * u
    rstd = tl.rsqrt(tl.sum(v * v, axis=0) / inner + eps)
    w = tl.load(weight + col, mask=ok, other=0.0).to(tl.float32)
    tl.store(out + token * inner + col, (v * rstd * w).to(out.dtype.element_ty), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, inner, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(inner, dtype=torch.bfloat16) + 0.1 * torch.randn(inner).to(torch.bfloat16))
        self.eps = eps

    def forward(self, gate_up):
        tokens, inner = gate_up.shape[0], gate_up.shape[1] // 2
        out = gate_up.new_empty((tokens, inner))
        block = triton.next_power_of_2(inner)
        gated_rms_kernel[(tokens,)](
            gate_up, self.weight, out, inner, self.eps, BLOCK=block, num_warps=min(16, max(4, block // 1024))
        )
        return out
