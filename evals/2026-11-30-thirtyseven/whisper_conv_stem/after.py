import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_gelu_kernel(x_ptr, w_ptr, b_ptr, y_ptr, T, T_OUT, C_IN, C_OUT,
                     BLOCK_T: tl.constexpr, BLOCK_O: tl.constexpr, BLOCK_C: tl.constexpr):
    o = tl.program_id(0) * BLOCK_O + tl.arange(0, BLOCK_O)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    batch = tl.program_id(2).to(tl.int64)
    c = tl.arange(0, BLOCK_C)
    x_ptr += batch * T * C_IN
    y_ptr += batch * T_OUT * C_OUT

    steps = tl.cdiv(C_IN, BLOCK_C)
    acc = tl.zeros((BLOCK_T, BLOCK_O), tl.float32)
    for i in range(0, 3 * steps):
        tap = i // steps
        ch = (i % steps) * BLOCK_C + c
        src = 2 * t + tap - 1
        x = tl.load(x_ptr + src[:, None] * C_IN + ch[None, :],
                    mask=(src[:, None] >= 0) & (src[:, None] < T) & (ch[None, :] < C_IN), other=0.0)
        w = tl.load(w_ptr + (tap * C_IN + ch[:, None]) * C_OUT + o[None, :],
                    mask=(ch[:, None] < C_IN) & (o[None, :] < C_OUT), other=0.0)
        # float16 products are exact in float32 and the accumulator is float32: nothing to gain from widening x and w
        acc = tl.dot(x, w, acc)

    b = tl.load(b_ptr + o, mask=o < C_OUT, other=0.0).to(tl.float32)
    y = acc + b[None, :]
    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    tl.store(y_ptr + t[:, None] * C_OUT + o[None, :], y.to(tl.float16),
             mask=(t[:, None] < T_OUT) & (o[None, :] < C_OUT))


class ModelNew(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(3, c_in, c_out) * (3 * c_in) ** -0.5).to(torch.float16))
        self.bias = nn.Parameter((0.1 * torch.randn(c_out)).to(torch.float16))

    def forward(self, x):
        x = x.contiguous()
        B, T, C_in = x.shape
        C_out = self.bias.shape[0]
        T_out = (T - 1) // 2 + 1
        y = torch.empty((B, T_out, C_out), device=x.device, dtype=x.dtype)
        if B * T_out * C_out >= 256 * 128 * 128:
            BLOCK_T, BLOCK_O, BLOCK_C, warps = 128, 128, 64, 8
        else:
            BLOCK_T, BLOCK_O, BLOCK_C, warps = 64, 64, 64, 4
        conv_gelu_kernel[(triton.cdiv(C_out, BLOCK_O), triton.cdiv(T_out, BLOCK_T), B)](
            x, self.weight, self.bias, y, T, T_out, C_in, C_out,
            BLOCK_T=BLOCK_T, BLOCK_O=BLOCK_O, BLOCK_C=BLOCK_C, num_warps=warps, num_stages=3)
        return y
