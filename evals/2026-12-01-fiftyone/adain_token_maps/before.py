import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def adain_kernel(x_ptr, s_ptr, y_ptr, L, C, eps, BLOCK_L: tl.constexpr):
    c = tl.program_id(0)
    b = tl.program_id(1)
    base = b.to(tl.int64) * L * C + c

    sum_x = tl.zeros([BLOCK_L], dtype=tl.float32)
    sq_x = tl.zeros([BLOCK_L], dtype=tl.float32)
    sum_s = tl.zeros([BLOCK_L], dtype=tl.float32)
    sq_s = tl.zeros([BLOCK_L], dtype=tl.float32)
    for l0 in range(0, L, BLOCK_L):
        l = l0 + tl.arange(0, BLOCK_L)
        x = tl.load(x_ptr + base + l * C, mask=l < L, other=0.0).to(tl.float32)
        s = tl.load(s_ptr + base + l * C, mask=l < L, other=0.0).to(tl.float32)
        sum_x += x
        sq_x += x * x
        sum_s += s
        sq_s += s * s
    mx = tl.sum(sum_x, 0) / L
    ms = tl.sum(sum_s, 0) / L
    vx = tl.maximum(tl.sum(sq_x, 0) / L - mx * mx, 0.0)
    vs = tl.maximum(tl.sum(sq_s, 0) / L - ms * ms, 0.0)
    gain = tl.sqrt(vs + eps) / tl.sqrt(vx + eps)
    shift = ms - mx * gain
    for l0 in range(0, L, BLOCK_L):
        l = l0 + tl.arange(0, BLOCK_L)
        x = tl.load(x_ptr + base + l * C, mask=l < L, other=0.0).to(tl.float32)
        tl.store(y_ptr + base + l * C, (x * gain + shift).to(y_ptr.dtype.element_ty), mask=l < L)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x, style):
        x, style = x.contiguous(), style.contiguous()
        B, L, C = x.shape
        y = torch.empty_like(x)
        adain_kernel[(C, B)](x, style, y, L, C, self.eps, BLOCK_L=512, num_warps=4)
        return y
