import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sage_gather_kernel(X, Tgt, Nbr, Out, fanout, feat,
                       BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    k_ok = k < fanout
    d_ok = d < feat

    # neighbour ids are int64 and the table can exceed 2**31 elements
    ids = tl.load(Nbr + row * fanout + k, mask=k_ok, other=0)
    me = tl.load(Tgt + row)

    nb = tl.load(X + ids[:, None] * feat + d[None, :], mask=k_ok[:, None] & d_ok[None, :], other=0.0)
    own = tl.load(X + me * feat + d, mask=d_ok, other=0.0)

    mean = tl.sum(nb.to(tl.float32), axis=0) / fanout
    out = Out + row * (2 * feat)
    tl.store(out + d, own, mask=d_ok)
    tl.store(out + feat + d, mean.to(Out.dtype.element_ty), mask=d_ok)


def sage_aggregate(feats, targets, neighbours):
    num_targets, fanout = neighbours.shape
    feat = feats.shape[1]
    out = torch.empty((num_targets, 2 * feat), device=feats.device, dtype=feats.dtype)
    sage_gather_kernel[(num_targets,)](
        feats, targets, neighbours, out, fanout, feat,
        BLOCK_K=triton.next_power_of_2(fanout),
        BLOCK_D=triton.next_power_of_2(feat),
        num_warps=2,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, feats, targets, neighbours):
        return sage_aggregate(feats.contiguous(), targets, neighbours.contiguous())
