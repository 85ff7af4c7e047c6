import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def depthwise_bn_silu_kernel(
    x_ptr, w_ptr, mean_ptr, var_ptr, gamma_ptr, beta_ptr, y_ptr,
    channels, frames, eps,
    sx_b, sx_c, sx_t, sy_b, sy_c, sy_t, sw_c, sw_k,
    KERNEL: tl.constexpr, BLOCK_T: tl.constexpr,
):
    c = tl.program_id(0)
    t0 = tl.program_id(1) * BLOCK_T
    b = tl.program_id(2).to(tl.int64)
    offs_t = t0 + tl.arange(0, BLOCK_T)

    x_row = x_ptr + b * sx_b + c * sx_c
    acc = tl.zeros([BLOCK_T], dtype=tl.float32)
    for k in tl.static_range(KERNEL):
        t = offs_t + k - KERNEL // 2
        x = tl.load(x_row + t * sx_t, mask=(t >= 0) & (t < frames), other=0.0)
        acc += x.to(tl.float32) * tl.load(w_ptr + c * sw_c + k * sw_k).to(tl.float32)

    scale = tl.load(gamma_ptr + c) / tl.sqrt(tl.load(var_ptr + c) + eps)
    shift = tl.load(beta_ptr + c) - tl.load(mean_ptr + c) * scale
    y = acc * scale + shift
    y = y * tl.sigmoid(y)
    tl.store(y_ptr + b * sy_b + c * sy_c + offs_t * sy_t, y.to(y_ptr.dtype.element_ty), mask=offs_t < frames)


class ModelNew(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter((torch.randn(kernel, channels) / kernel**0.5).to(torch.float16))
        self.gamma = nn.Parameter(torch.rand(channels) + 0.5)
        self.beta = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.1)
        self.register_buffer("running_var", torch.rand(channels) + 0.5)

    def forward(self, x):
        y = torch.empty_like(x)
        # the kernel takes any strides, so no transposed copies are needed
        xt, yt, wt = x.transpose(1, 2), y.transpose(1, 2), self.weight.t()
        batch, channels, frames = xt.shape
        BLOCK_T = 256
        grid = (channels, triton.cdiv(frames, BLOCK_T), batch)
        depthwise_bn_silu_kernel[grid](
            xt, wt, self.running_mean, self.running_var, self.gamma, self.beta, yt,
            channels, frames, 1e-5,
            xt.stride(0), xt.stride(1), xt.stride(2),
            yt.stride(0), yt.stride(1), yt.stride(2),
            wt.stride(0), wt.stride(1),
            KERNEL=self.kernel, BLOCK_T=BLOCK_T, num_warps=4,
        )
        return y
