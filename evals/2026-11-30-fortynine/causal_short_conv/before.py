import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_conv_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, T, C,
    WIDTH: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr,
):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    batch = tl.program_id(2).to(tl.int64)
    c_ok = c < C
    base = batch * T * C

    bias = tl.load(b_ptr + c, mask=c_ok, other=0.0)
    acc = tl.zeros((BLOCK_T, BLOCK_C), tl.float32) + bias[None, :]
    for i in tl.static_range(WIDTH):
        # shifted copies of the tile: all but the first come from L1
        src = t + (i - (WIDTH - 1))
        x = tl.load(x_ptr + base + src[:, None] * C + c[None, :],
                    mask=(src[:, None] >= 0) & (src[:, None] < T) & c_ok[None, :], other=0.0)
        w = tl.load(w_ptr + i * C + c, mask=c_ok, other=0.0)
        acc += x * w[None, :]

    y = acc * tl.sigmoid(acc)
    tl.store(y_ptr + base + t[:, None] * C + c[None, :], y, mask=(t[:, None] < T) & c_ok[None, :])


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, channels) * 0.5, requires_grad=False)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1, requires_grad=False)

    def forward(self, x):
        B, T, C = x.shape
        y = torch.empty_like(x)
        BLOCK_T, BLOCK_C = 32, 128
        causal_conv_kernel[(triton.cdiv(C, BLOCK_C), triton.cdiv(T, BLOCK_T), B)](
            x, self.weight, self.bias, y, T, C,
            WIDTH=4, BLOCK_T=BLOCK_T, BLOCK_C=BLOCK_C, num_warps=8,
        )
        return y
