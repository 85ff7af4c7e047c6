import torch
import triton
import triton.language as tl


@triton.jit
def _cosine_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    D,
    eps,
    BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_D)
    mask = offs < D
    a = tl.load(a_ptr + pid * D + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + pid * D + offs, mask=mask, other=0.0)
    ab = tl.sum(a * b, axis=0)
    aa = tl.sum(a * a, axis=0)
    bb = tl.sum(b * b, axis=0)
    denom = tl.maximum(tl.sqrt(aa), eps) * tl.maximum(tl.sqrt(bb), eps)
    tl.store(out_ptr + pid, ab / denom)


class CosineSimilarity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, eps):
        # the kernel works on contiguous fp32 rows
        a32 = a.to(torch.float32).contiguous()
        b32 = b.to(torch.float32).contiguous()
        n, d = a32.shape
        out = torch.empty(n, device=a.device, dtype=torch.float32)
        _cosine_kernel[(n,)](a32, b32, out, d, eps, BLOCK_D=triton.next_power_of_2(d), num_warps=4)
        return out


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = 1e-8

    def forward(self, anchor, positive):
        return CosineSimilarity.apply(anchor, positive, self.eps)
