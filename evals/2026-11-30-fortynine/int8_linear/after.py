import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def w8a16_linear_kernel(
    x_ptr, qw_ptr, scale_ptr, bias_ptr, y_ptr, M, N, K,
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
        q = tl.load(qw_ptr + n[:, None] * K + k[None, :],
                    mask=(n[:, None] < N) & (k[None, :] < K), other=0)
        # int8 values are exact in fp16; the per-channel scale waits for the epilogue
        acc = tl.dot(x, tl.trans(q.to(tl.float16)), acc)
    scale = tl.load(scale_ptr + n, mask=n < N, other=0.0)
    bias = tl.load(bias_ptr + n, mask=n < N, other=0.0)
    acc = acc * scale[None, :] + bias[None, :].to(tl.float32)
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
        y = torch.empty((M, N), device=x.device, dtype=torch.float16)
        BLOCK_M = 16 if M <= 16 else 32
        BLOCK_N = 32 if N < 16384 else 64
        w8a16_linear_kernel[(triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M))](
            x, self.qweight, self.scale, self.bias, y, M, N, K,
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=128, num_warps=4, num_stages=4)
        return y
