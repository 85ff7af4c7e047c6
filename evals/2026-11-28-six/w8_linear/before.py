import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8},
                           num_warps=4, num_stages=3)],
    key=["M", "N", "K"],
)
@triton.jit
def w8a16_matmul_kernel(
    x_ptr, w_ptr, s_ptr, y_ptr,
    M, N, K,
    stride_xm, stride_xk, stride_wn, stride_wk, stride_ym, stride_yn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BLOCK_M)
    num_n = tl.cdiv(N, BLOCK_N)
    width = GROUP_M * num_n
    gid = pid // width
    first = gid * GROUP_M
    size = min(num_m - first, GROUP_M)
    pid_m = first + (pid % width) % size
    pid_n = (pid % width) // size

    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rm[:, None] * stride_xm + rk[None, :] * stride_xk
    w_ptrs = w_ptr + rn[None, :] * stride_wn + rk[:, None] * stride_wk
    scale = tl.load(s_ptr + rn, mask=rn < N, other=0.0)

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        kmask = rk < K - k * BLOCK_K
        x = tl.load(x_ptrs, mask=(rm[:, None] < M) & kmask[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=kmask[:, None] & (rn[None, :] < N), other=0)
        w = w.to(tl.float32) * scale[None, :]
        acc += tl.dot(x.to(tl.float32), w, allow_tf32=False)
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * stride_wk

    y_ptrs = y_ptr + rm[:, None] * stride_ym + rn[None, :] * stride_yn
    tl.store(y_ptrs, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, wq, scale):
        M, K = x.shape
        N = wq.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
        w8a16_matmul_kernel[grid](
            x, wq, scale, y, M, N, K,
            x.stride(0), x.stride(1), wq.stride(0), wq.stride(1), y.stride(0), y.stride(1),
        )
        return y
