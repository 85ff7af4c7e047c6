import torch
import triton
import triton.language as tl


@triton.jit
def _l2_normalize_fwd(X, Y, stride, D, eps, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    mask = cols < D
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    y = x / tl.maximum(norm, eps)
    tl.store(Y + row * stride + cols, y.to(tl.bfloat16), mask=mask)


class L2Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps=1e-12):
        y = torch.empty_like(x)
        n, d = x.shape
        block = triton.next_power_of_2(d)
        num_warps = 2 if block <= 1024 else 8
        _l2_normalize_fwd[(n,)](x, y, x.stride(0), d, eps, BLOCK_D=block, num_warps=num_warps)
        return y


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return L2Normalize.apply(x)
