import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def edge_gate_kernel(a_ptr, b_ptr, v_ptr, c_ptr, src_ptr, dst_ptr, bias_ptr, e_out_ptr, msg_ptr, edges, dim,
                     BLOCK_E: tl.constexpr, BLOCK_D: tl.constexpr):
    edge = tl.program_id(0) * BLOCK_E + tl.arange(0, BLOCK_E)
    d = tl.arange(0, BLOCK_D)
    e_mask = edge < edges
    d_mask = d < dim
    mask = e_mask[:, None] & d_mask[None, :]
    src = tl.load(src_ptr + edge, mask=e_mask, other=0)
    dst = tl.load(dst_ptr + edge, mask=e_mask, other=0)

    src_off = src[:, None] * dim + d[None, :]
    dst_off = dst[:, None] * dim + d[None, :]
    edge_off = edge[:, None].to(tl.int64) * dim + d[None, :]

    # node rows are used again and again and should stay in L2; the edge rows pass through once
    a = tl.load(a_ptr + src_off, mask=mask, other=0.0).to(tl.float32)
    v = tl.load(v_ptr + src_off, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + dst_off, mask=mask, other=0.0).to(tl.float32)
    c = tl.load(c_ptr + edge_off, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    bias = tl.load(bias_ptr + d, mask=d_mask, other=0.0)

    e = a + b + c + bias[None, :]
    msg = tl.sigmoid(e) * v
    tl.store(e_out_ptr + edge_off, e.to(tl.bfloat16), mask=mask, eviction_policy="evict_first")
    tl.store(msg_ptr + edge_off, msg.to(tl.bfloat16), mask=mask, eviction_policy="evict_first")


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, a, b, v, c, src, dst):
        a, b, v, c = a.contiguous(), b.contiguous(), v.contiguous(), c.contiguous()
        src, dst = src.contiguous(), dst.contiguous()
        edges, dim = c.shape
        e_out = torch.empty_like(c)
        msg = torch.empty_like(c)
        BLOCK_E = 16
        edge_gate_kernel[(triton.cdiv(edges, BLOCK_E),)](
            a, b, v, c, src, dst, self.bias, e_out, msg, edges, dim,
            BLOCK_E=BLOCK_E, BLOCK_D=triton.next_power_of_2(dim), num_warps=4)
        return e_out, msg
