import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({"EVEN_K": lambda a: a["K"] % a["BLOCK_K"] == 0, "EVEN_N": lambda a: a["N"] % a["BLOCK_N"] == 0})
@triton.jit
def decode_linear(
    x_ptr, w_ptr, res_ptr, y_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    EVEN_K: tl.constexpr, EVEN_N: tl.constexpr,
):
    m = tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    n_safe = n if EVEN_N else tl.minimum(n, N - 1)
    x_tile = x_ptr + (m % M)[:, None] * K + k[None, :]
    w_tile = w_ptr + n_safe.to(tl.int64)[None, :] * K + k[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            w = tl.load(w_tile + start, eviction_policy="evict_first")
            x = tl.load(x_tile + start)
        else:
            w = tl.load(w_tile + start, mask=k[:, None] < K - start, other=0.0)
            x = tl.load(x_tile + start, mask=k[None, :] < K - start, other=0.0)
        acc = tl.dot(x, w, acc)
    at = m[:, None] * N + n[None, :]
    inside = (m < M)[:, None] & (n < N)[None, :]
    acc += tl.load(res_ptr + at, mask=inside, other=0.0)
    tl.store(y_ptr + at, acc.to(tl.float16), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(out_dim, in_dim) * in_dim**-0.5).half())

    def forward(self, x, residual):
        (m, k), n = x.shape, self.weight.shape[0]
        y = torch.empty_like(residual)
        block_n = 32
        decode_linear[(triton.cdiv(n, block_n),)](
            x, self.weight, residual, y, m, n, k,
            BLOCK_M=16, BLOCK_N=block_n, BLOCK_K=256, num_warps=4, num_stages=4,
        )
        return y
