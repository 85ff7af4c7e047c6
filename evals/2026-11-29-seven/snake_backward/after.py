import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def snake_fwd_kernel(x_ptr, alpha_ptr, y_ptr, n_elements, channels, frames, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    c = (offs // frames) % channels
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    a = tl.load(alpha_ptr + c, mask=mask, other=1.0)
    s = tl.sin(a * x)
    tl.store(y_ptr + offs, x + s * s / a, mask=mask)


@triton.jit
def snake_bwd_kernel(x_ptr, alpha_ptr, dy_ptr, dx_ptr, dalpha_ptr, channels, frames, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = row % channels
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = t < frames
    offs = row * frames + t
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + offs, mask=mask, other=0.0)
    a = tl.load(alpha_ptr + c)
    s = tl.sin(a * x)
    s2 = 2.0 * s * tl.cos(a * x)
    tl.store(dx_ptr + offs, dy * (1.0 + s2), mask=mask)
    da = dy * (x * s2 / a - s * s / (a * a))
    tl.atomic_add(dalpha_ptr + c, tl.sum(da, axis=0))


class SnakeFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        x = x.contiguous()
        y = torch.empty_like(x)
        _, channels, frames = x.shape
        n = x.numel()
        snake_fwd_kernel[(triton.cdiv(n, 1024),)](x, alpha, y, n, channels, frames, BLOCK=1024)
        ctx.save_for_backward(x, alpha)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, alpha = ctx.saved_tensors
        dy = dy.contiguous()
        dx = torch.empty_like(x)
        dalpha = torch.zeros_like(alpha)
        batch, channels, frames = x.shape
        grid = (batch * channels, triton.cdiv(frames, 1024))
        snake_bwd_kernel[grid](x, alpha, dy, dx, dalpha, channels, frames, BLOCK=1024)
        return dx, dalpha


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(channels) + 0.5)

    def forward(self, x, grad_out):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            alpha = self.alpha.detach().requires_grad_(True)
            y = SnakeFunction.apply(x, alpha)
            dx, dalpha = torch.autograd.grad(y, (x, alpha), grad_out)
        return y.detach(), dx, dalpha
