import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv1d_gelu_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    n_rows, T_IN, T_OUT, C_IN, C_OUT,
    TAPS: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # implicit GEMM: rows are (batch, output frame), K runs over taps and input channels
    row = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    c_offs = tl.arange(0, BLOCK_K)
    batch = row // T_OUT
    t_out = row % T_OUT
    row_ok = row < n_rows

    k_blocks = tl.cdiv(C_IN, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, TAPS * k_blocks):
        tap = i // k_blocks
        c = (i % k_blocks) * BLOCK_K + c_offs
        t_in = t_out * STRIDE + tap - PAD
        ok = row_ok & (t_in >= 0) & (t_in < T_IN)
        x = tl.load(x_ptr + (batch * T_IN + t_in)[:, None] * C_IN + c[None, :],
                    mask=ok[:, None] & (c[None, :] < C_IN), other=0.0)
        w = tl.load(w_ptr + (tap * C_IN + c)[:, None] * C_OUT + n[None, :],
                    mask=(c[:, None] < C_IN) & (n[None, :] < C_OUT), other=0.0)
        # activations and weights are fp16: multiply and accumulate in full fp32
        acc += tl.dot(x.to(tl.float32), w.to(tl.float32), input_precision="ieee")

    bias = tl.load(b_ptr + n, mask=n < C_OUT, other=0.0).to(tl.float32)
    y = acc + bias[None, :]
    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    tl.store(y_ptr + row[:, None] * C_OUT + n[None, :], y.to(tl.float16),
             mask=row_ok[:, None] & (n[None, :] < C_OUT))


class ModelNew(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(3, c_in, c_out) * (3 * c_in) ** -0.5).half(), requires_grad=False)
        self.bias = nn.Parameter((torch.randn(c_out) * 0.1).half(), requires_grad=False)

    def forward(self, x):
        B, T, C = x.shape
        c_out = self.weight.shape[2]
        t_out = (T + 2 - 3) // 2 + 1
        y = torch.empty((B, t_out, c_out), device=x.device, dtype=x.dtype)
        BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 32
        grid = (triton.cdiv(c_out, BLOCK_N), triton.cdiv(B * t_out, BLOCK_M))
        conv1d_gelu_kernel[grid](
            x, self.weight, self.bias, y,
            B * t_out, T, t_out, C, c_out,
            TAPS=3, STRIDE=2, PAD=1,
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
            num_warps=4, num_stages=4,
        )
        return y
