import torch
import triton
import triton.language as tl


@triton.jit
def mm(X, W, R, Y, rows, d_in, d_out, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # neighbouring programs share a block of rows of W
    pid = tl.program_id(0)
    blocks_n = tl.cdiv(d_out, BN)
    band = pid // (8 * blocks_n) * 8
    high = tl.minimum(tl.cdiv(rows, BM) - band, 8)
    m = (band + pid % (8 * blocks_n) % high) * BM + tl.arange(0, BM)
    n = pid % (8 * blocks_n) // high * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, d_in, BK):
        x = tl.load(X + m[:, None] * d_in + (k0 + k)[None, :], mask=(m[:, None] < rows) & ((k0 + k)[None, :] < d_in), other=0.0)
        w = tl.load(W + (k0 + k)[:, None] * d_out + n[None, :], mask=(n[None, :] < d_out) & ((k0 + k)[:, None] < d_in), other=0.0)
        acc += tl.dot(x, w)
    here = m[:, None] * d_out + n[None, :]
    inside = (m[:, None] < rows) & (n[None, :] < d_out)
    acc += tl.load(R + here, mask=inside)
    acc = tl.maximum(acc, 0.0)
    tl.store(Y + here, acc.to(tl.float16), mask=inside)


def matmul(x, w, residual):
    rows, d_in = x.shape
    d_out = w.shape[1]
    y = torch.empty((rows, d_out), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(rows, 128) * triton.cdiv(d_out, 128),)
    mm[grid](x, w, residual, y, rows, d_in, d_out, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, x, w, residual):
        return matmul(x, w, residual)
