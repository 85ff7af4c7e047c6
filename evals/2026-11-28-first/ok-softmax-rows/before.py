import torch
import triton
import triton.language as tl


@triton.jit
def tempered(x, y, cols, inv_t, P: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    c = tl.arange(0, P)
    v = tl.load(x + row + c, mask=c < cols, other=float("-inf")).to(tl.float32) * inv_t
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row + c, (v / tl.sum(v, axis=0)).to(y.dtype.element_ty), mask=c < cols)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        p = triton.next_power_of_2(x.shape[1])
        tempered[(x.shape[0],)](x, y, x.shape[1], 1 / 0.7, P=p, num_warps=max(4, min(16, p // 512)))
        return y
