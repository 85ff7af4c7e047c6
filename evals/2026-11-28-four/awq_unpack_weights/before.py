import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unpack_int4(words, ROWS: tl.constexpr, WORDS: tl.constexpr):
    # AWQ stores column j of a word at nibble (0, 4, 1, 5, 2, 6, 3, 7)[j]
    j = tl.arange(0, 8)
    shift = ((j >> 1) + (j & 1) * 4) * 4
    vals = (words[:, :, None] >> shift[None, None, :]) & 0xF
    return tl.reshape(vals, (ROWS, WORDS * 8))


@triton.jit
def awq_dequant_kernel(
    qw_ptr, s_ptr, qz_ptr, out_ptr,
    K, N8, GROUP,
    BLOCK_K: tl.constexpr, BLOCK_W: tl.constexpr,
):
    pid_w = tl.program_id(0)
    pid_k = tl.program_id(1)
    rows = pid_k * BLOCK_K + tl.arange(0, BLOCK_K)
    words = pid_w * BLOCK_W + tl.arange(0, BLOCK_W)
    cols = pid_w * BLOCK_W * 8 + tl.arange(0, BLOCK_W * 8)
    N = N8 * 8

    w_mask = (rows[:, None] < K) & (words[None, :] < N8)
    qw = tl.load(qw_ptr + rows[:, None] * N8 + words[None, :], mask=w_mask, other=0)
    w = unpack_int4(qw, BLOCK_K, BLOCK_W)

    # BLOCK_K divides GROUP, so a tile has exactly one row of zeros and scales
    g = pid_k * BLOCK_K // GROUP
    qz = tl.load(qz_ptr + g * N8 + words, mask=words < N8, other=0)
    z = unpack_int4(qz[None, :], 1, BLOCK_W)
    s = tl.load(s_ptr + g * N + cols, mask=cols < N, other=0.0)

    out = (w - z).to(tl.float32) * s.to(tl.float32)[None, :]
    out_mask = (rows[:, None] < K) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], out.to(tl.float16), mask=out_mask)


class ModelNew(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, qweight, scales, qzeros):
        k, n8 = qweight.shape
        out = torch.empty((k, n8 * 8), device=qweight.device, dtype=torch.float16)
        BLOCK_K, BLOCK_W = 16, 64
        grid = (triton.cdiv(n8, BLOCK_W), triton.cdiv(k, BLOCK_K))
        awq_dequant_kernel[grid](
            qweight, scales, qzeros, out,
            k, n8, self.group,
            BLOCK_K=BLOCK_K, BLOCK_W=BLOCK_W,
            num_warps=8,
        )
        return out
