import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gin_kernel(x_ptr, indptr_ptr, indices_ptr, eps_ptr, bias_ptr, out_ptr, F,
               BLOCK_E: tl.constexpr, BLOCK_F: tl.constexpr):
    # One program for each node: a tile of whole neighbour rows, contiguous along the features.
    node = tl.program_id(0)
    f = tl.arange(0, BLOCK_F)
    f_mask = f < F
    begin = tl.load(indptr_ptr + node)
    end = tl.load(indptr_ptr + node + 1)
    acc = tl.zeros([BLOCK_E, BLOCK_F], tl.float32)
    for start in range(begin, end, BLOCK_E):
        e = start + tl.arange(0, BLOCK_E)
        mask = e < end
        src = tl.load(indices_ptr + e, mask=mask, other=0).to(tl.int64)
        tile = tl.load(x_ptr + src[:, None] * F + f[None, :], mask=mask[:, None] & f_mask[None, :], other=0.0)
        acc += tile.to(tl.float32)
    total = tl.sum(acc, axis=0)
    mean = total / tl.maximum(end - begin, 1).to(tl.float32)
    row = node.to(tl.int64) * F
    own = tl.load(x_ptr + row + f, mask=f_mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + f, mask=f_mask, other=0.0)
    y = mean + (1.0 + tl.load(eps_ptr)) * own + bias
    tl.store(out_ptr + row + f, tl.maximum(y, 0.0).to(tl.float16), mask=f_mask)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor(0.1))
        self.bias = nn.Parameter(torch.randn(features) * 0.1)

    def forward(self, x, indptr, indices):
        assert x.dtype == torch.float16 and x.is_contiguous()
        assert indptr.dtype == torch.int32 and indices.dtype == torch.int32
        assert indptr.shape[0] == x.shape[0] + 1
        n, F = x.shape
        out = torch.empty_like(x)
        gin_kernel[(n,)](x, indptr, indices, self.eps, self.bias, out, F,
                         BLOCK_E=16, BLOCK_F=triton.next_power_of_2(F), num_warps=2)
        return out
