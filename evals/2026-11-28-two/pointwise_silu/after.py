import torch
import torch.nn as nn
import triton
import triton.language as tl


CONFIGS = [
    triton.Config({"BLOCK_O": 128, "BLOCK_P": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
    triton.Config({"BLOCK_O": 128, "BLOCK_P": 256, "BLOCK_K": 64}, num_warps=8, num_stages=3),
    triton.Config({"BLOCK_O": 64, "BLOCK_P": 128, "BLOCK_K": 64}, num_warps=4, num_stages=4),
]


@triton.autotune(configs=CONFIGS if torch.cuda.is_available() else CONFIGS[:1], key=["C_in", "C_out", "HW"])
@triton.jit
def conv1x1_silu_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr,
    C_in, C_out, HW,
    stride_xn, stride_xc,
    stride_wo, stride_wi,
    stride_yn, stride_yc,
    BLOCK_O: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_o = tl.program_id(0)
    pid_p = tl.program_id(1)
    pid_n = tl.program_id(2).to(tl.int64)

    offs_o = pid_o * BLOCK_O + tl.arange(0, BLOCK_O)
    offs_p = pid_p * BLOCK_P + tl.arange(0, BLOCK_P)
    offs_k = tl.arange(0, BLOCK_K)

    w_ptrs = w_ptr + offs_o[:, None] * stride_wo + offs_k[None, :] * stride_wi
    x_ptrs = x_ptr + pid_n * stride_xn + offs_k[:, None] * stride_xc + offs_p[None, :]

    acc = tl.zeros((BLOCK_O, BLOCK_P), dtype=tl.float32)
    for k in range(0, tl.cdiv(C_in, BLOCK_K)):
        k_left = C_in - k * BLOCK_K
        w = tl.load(w_ptrs, mask=(offs_o[:, None] < C_out) & (offs_k[None, :] < k_left), other=0.0)
        x = tl.load(x_ptrs, mask=(offs_k[:, None] < k_left) & (offs_p[None, :] < HW), other=0.0)
        acc = tl.dot(w, x, acc)
        w_ptrs += BLOCK_K * stride_wi
        x_ptrs += BLOCK_K * stride_xc

    bias = tl.load(bias_ptr + offs_o, mask=offs_o < C_out, other=0.0).to(tl.float32)
    acc += bias[:, None]
    acc = acc * tl.sigmoid(acc)

    y_ptrs = y_ptr + pid_n * stride_yn + offs_o[:, None] * stride_yc + offs_p[None, :]
    tl.store(y_ptrs, acc.to(tl.float16), mask=(offs_o[:, None] < C_out) & (offs_p[None, :] < HW))


def conv1x1_silu(x, weight, bias):
    x = x.contiguous()
    n, c_in, h, w = x.shape
    c_out = weight.shape[0]
    y = torch.empty((n, c_out, h, w), device=x.device, dtype=x.dtype)

    grid = lambda meta: (triton.cdiv(c_out, meta["BLOCK_O"]), triton.cdiv(h * w, meta["BLOCK_P"]), n)
    conv1x1_silu_kernel[grid](
        x, weight, bias, y,
        c_in, c_out, h * w,
        x.stride(0), x.stride(1),
        weight.stride(0), weight.stride(1),
        y.stride(0), y.stride(1),
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(c_out, c_in) / c_in ** 0.5).half())
        self.bias = nn.Parameter((torch.randn(c_out) * 0.1).half())

    def forward(self, x):
        return conv1x1_silu(x, self.weight, self.bias)
