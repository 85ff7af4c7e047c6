import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gin_kernel(x_ptr, indptr_ptr, indices_ptr, eps_ptr, bias_ptr, out_ptr, F, BLOCK_E: tl.constexpr):
    # Segmented reduction: one program for each (node, feature), the lanes reduce over the node's edges.
    node = tl.program_id(0)
    f = tl.program_id(1)
    begin = tl.load(indptr_ptr + node)
    end = tl.load(indptr_ptr + node + 1)
    acc = tl.zeros([BLOCK_E], tl.float32)
    for start in range(begin, end, BLOCK_E):
        e = start + tl.arange(0, BLOCK_E)
        mask = e < end
        src = tl.load(indices_ptr + e, mask=mask, other=0).to(tl.int64)
        acc += tl.load(x_ptr + src * F + f, mask=mask, other=0.0).to(tl.float32)
    total = tl.sum(acc, axis=0)
    mean = total / tl.maximum(end - begin, 1).to(tl.float32)
    own = tl.load(x_ptr + node.to(tl.int64) * F + f).to(tl.float32)
    y = mean + (1.0 + tl.load(eps_ptr)) * own + tl.load(bias_ptr + f)
    tl.store(out_ptr + node.to(tl.int64) * F + f, tl.maximum(y, 0.0).to(tl.float16))


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
        gin_kernel[(n, F)](x, indptr, indices, self.eps, self.bias, out, F, BLOCK_E=32, num_warps=1)
        return out
