import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK_KP": 4, "BLOCK_N": 256}, num_warps=4)],
    key=["KP", "N"],
)
@triton.jit
def dequantize_kernel(
    qweight_ptr, qzeros_ptr, scales_ptr, w_ptr,
    KP, N,
    GROUP: tl.constexpr,
    BLOCK_KP: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # rows of packed words; each word holds eight consecutive k of one column
    kp = tl.program_id(0) * BLOCK_KP + tl.arange(0, BLOCK_KP)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (kp < KP)[:, None] & (n < N)[None, :]
    grp = (kp * 8) // GROUP

    packed = tl.load(qweight_ptr + kp[:, None] * N + n[None, :], mask=mask, other=0)
    zp = tl.load(qzeros_ptr + grp[:, None] * (N // 8) + (n // 8)[None, :], mask=mask, other=0)
    zp = (zp >> ((n % 8) * 4)[None, :]) & 0xF
    s = tl.load(scales_ptr + grp[:, None] * N + n[None, :], mask=mask, other=0.0)

    out = w_ptr + (kp * 8)[:, None] * N + n[None, :]
    for i in tl.static_range(8):
        q = (packed >> (4 * i)) & 0xF
        tl.store(out + i * N, (q - zp).to(tl.float16) * s, mask=mask)


def dequantize(qweight, qzeros, scales, group_size):
    kp, n = qweight.shape
    w = torch.empty((kp * 8, n), device=qweight.device, dtype=scales.dtype)
    grid = lambda meta: (triton.cdiv(kp, meta["BLOCK_KP"]), triton.cdiv(n, meta["BLOCK_N"]))
    dequantize_kernel[grid](
        qweight, qzeros, scales, w, kp, n,
        GROUP=group_size,
    )
    return w


class ModelNew(nn.Module):
    def __init__(self, group_size):
        super().__init__()
        self.group_size = group_size

    def forward(self, x, qweight, qzeros, scales):
        w = dequantize(qweight, qzeros, scales, self.group_size)
        return torch.matmul(x, w)
