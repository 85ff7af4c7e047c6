import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fir_energy_kernel(
    x_ptr, w_ptr, out_ptr,
    T, T_OUT, C, K,
    BLOCK_C: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # one program: all filters of a block against one stretch, as a product
    # of the [C, K] taps with the [K, T] Hankel matrix of the signal
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    b = tl.program_id(2)

    x_row = x_ptr + b * T
    acc = tl.zeros((BLOCK_C, BLOCK_T), dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K)
        w = tl.load(
            w_ptr + c[:, None] * K + k[None, :],
            mask=(c < C)[:, None] & (k < K)[None, :], other=0.0,
        )
        pos = k[:, None] + t[None, :]
        x = tl.load(x_row + pos, mask=pos < T, other=0.0)
        acc = tl.dot(w, x, acc)

    energy = tl.log(1.0 + acc * acc)
    out_row = out_ptr + (b * C + c).to(tl.int64) * T_OUT
    mask = (c < C)[:, None] & (t < T_OUT)[None, :]
    tl.store(out_row[:, None] + t[None, :], energy.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, taps):
        super().__init__()
        self.filters = nn.Parameter((torch.randn(channels, taps) / taps ** 0.5).half())

    def forward(self, x):
        x = x.contiguous()
        B, T = x.shape
        C, K = self.filters.shape
        T_OUT = T - K + 1
        out = torch.empty((B, C, T_OUT), device=x.device, dtype=torch.float16)
        BLOCK_C, BLOCK_T, BLOCK_K = 64, 128, 32
        grid = (triton.cdiv(T_OUT, BLOCK_T), triton.cdiv(C, BLOCK_C), B)
        fir_energy_kernel[grid](
            x, self.filters, out, T, T_OUT, C, K,
            BLOCK_C=BLOCK_C, BLOCK_T=BLOCK_T, BLOCK_K=BLOCK_K,
            num_warps=4, num_stages=2,
        )
        return out
