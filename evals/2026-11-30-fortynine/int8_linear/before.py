import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dequantize_kernel(qw_ptr, scale_ptr, w_ptr, N, K, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    mask = (n[:, None] < N) & (k[None, :] < K)
    offs = n[:, None] * K + k[None, :]
    q = tl.load(qw_ptr + offs, mask=mask, other=0)
    s = tl.load(scale_ptr + n, mask=n < N, other=0.0)
    tl.store(w_ptr + offs, (q.to(tl.float32) * s[:, None]).to(tl.float16), mask=mask)


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k_offs = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + k_offs
        x = tl.load(x_ptr + m[:, None] * K + k[None, :],
                    mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + n[:, None] * K + k[None, :],
                    mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
        acc = tl.dot(x, tl.trans(w), acc)
    bias = tl.load(bias_ptr + n, mask=n < N, other=0.0)
    acc += bias[None, :].to(tl.float32)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16),
             mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scale", (torch.rand(out_features) * 0.5 + 0.5) / (127 * in_features ** 0.5))
        self.bias = nn.Parameter(torch.randn(out_features).half() * 0.1, requires_grad=False)

    def forward(self, x):
        M, K = x.shape
        N = self.qweight.shape[0]
        w = torch.empty((N, K), device=x.device, dtype=torch.float16)
        dequantize_kernel[(triton.cdiv(K, 512), triton.cdiv(N, 8))](
            self.qweight, self.scale, w, N, K, BLOCK_N=8, BLOCK_K=512, num_warps=4)

        y = torch.empty((M, N), device=x.device, dtype=torch.float16)
        BLOCK_M = 16 if M <= 16 else 32
        BLOCK_N = 32 if N < 16384 else 64
        linear_kernel[(triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M))](
            x, w, self.bias, y, M, N, K,
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=128, num_warps=4, num_stages=4)
        return y
