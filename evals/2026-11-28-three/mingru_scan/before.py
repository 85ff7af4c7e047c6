import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def min_gru_fwd(gate, x, h0, out, T, D, sb, st, BD: tl.constexpr):
    pid_d = tl.program_id(0)
    pid_b = tl.program_id(1)
    cols = pid_d * BD + tl.arange(0, BD)
    m = cols < D

    h = tl.load(h0 + pid_b * D + cols, mask=m, other=0.0)
    base = pid_b.to(tl.int64) * sb + cols
    g_ptrs = gate + base
    x_ptrs = x + base
    o_ptrs = out + base
    for _ in range(T):
        z = tl.sigmoid(tl.load(g_ptrs, mask=m, other=0.0))
        v = tl.load(x_ptrs, mask=m, other=0.0)
        h = (1.0 - z) * h + z * v
        tl.store(o_ptrs, h, mask=m)
        g_ptrs += st
        x_ptrs += st
        o_ptrs += st


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, gate, x, h0):
        gate, x, h0 = gate.contiguous(), x.contiguous(), h0.contiguous()
        B, T, D = x.shape
        out = torch.empty_like(x)
        BD = 128
        min_gru_fwd[(triton.cdiv(D, BD), B)](
            gate, x, h0, out, T, D, x.stride(0), x.stride(1), BD=BD, num_warps=4)
        return out
