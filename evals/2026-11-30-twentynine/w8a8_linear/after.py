import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def w8a8_gemm_kernel(x_ptr, w_ptr, xs_ptr, ws_ptr, bias_ptr, out_ptr, M, N, K,
                     BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    group = pid // (GROUP_M * num_n)
    first_m = group * GROUP_M
    size_m = tl.minimum(num_m - first_m, GROUP_M)
    pid_m = first_m + (pid % (GROUP_M * num_n)) % size_m
    pid_n = (pid % (GROUP_M * num_n)) // size_m

    offs_m = pid_m * BM + tl.arange(0, BM)
    offs_n = pid_n * BN + tl.arange(0, BN)
    offs_k = tl.arange(0, BK)
    x_ptrs = x_ptr + (offs_m % M)[:, None] * K + offs_k[None, :]
    w_ptrs = w_ptr + (offs_n % N)[None, :] * K + offs_k[:, None]
    xs = tl.load(xs_ptr + offs_m, mask=offs_m < M, other=0.0)
    ws = tl.load(ws_ptr + offs_n, mask=offs_n < N, other=0.0)
    bias = tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0)

    # exact integer products on the int8 tensor cores; both scales are constant along K and go to the epilogue
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        x = tl.load(x_ptrs, mask=offs_k[None, :] < K - k, other=0)
        w = tl.load(w_ptrs, mask=offs_k[:, None] < K - k, other=0)
        acc = tl.dot(x, w, acc, out_dtype=tl.int32)
        x_ptrs += BK
        w_ptrs += BK

    out = acc.to(tl.float32) * xs[:, None] * ws[None, :] + bias[None, :]
    offs = offs_m[:, None] * N + offs_n[None, :]
    tl.store(out_ptr + offs, out.to(tl.bfloat16), mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("w_scale", torch.rand(out_features) * 2e-4 + 1e-4)
        self.bias = nn.Parameter(torch.randn(out_features), requires_grad=False)

    def forward(self, x_q, x_scale):
        m, k = x_q.shape
        n = self.weight.shape[0]
        out = torch.empty((m, n), dtype=torch.bfloat16, device=x_q.device)
        grid = (triton.cdiv(m, 128) * triton.cdiv(n, 128),)
        w8a8_gemm_kernel[grid](x_q, self.weight, x_scale, self.w_scale, self.bias, out, m, n, k,
                               BM=128, BN=128, BK=128, GROUP_M=8, num_warps=8, num_stages=4)
        return out
