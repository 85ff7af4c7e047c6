import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embedding_bag_kernel(rows_ptr, qparams_ptr, idx_ptr, weight_ptr, out_ptr, bag_len,
                         DIM: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_L: tl.constexpr):
    # one bag per program; BLOCK_L rows of the table are in flight at a time
    bag = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    d_live = d < DIM

    acc = tl.zeros([BLOCK_L, BLOCK_D], dtype=tl.float32)
    offset = tl.zeros([BLOCK_L], dtype=tl.float32)
    for start in range(0, bag_len, BLOCK_L):
        l = start + tl.arange(0, BLOCK_L)
        live = l < bag_len
        idx = tl.load(idx_ptr + bag * bag_len + l, mask=live, other=0)
        w = tl.load(weight_ptr + bag * bag_len + l, mask=live, other=0.0)
        q = tl.load(rows_ptr + idx[:, None] * DIM + d[None, :],
                    mask=live[:, None] & d_live[None, :], other=0)
        # scale and bias of a row share one 32-byte sector
        scale = tl.load(qparams_ptr + idx * 2, mask=live, other=0.0)
        bias = tl.load(qparams_ptr + idx * 2 + 1, mask=live, other=0.0)
        acc += q.to(tl.float32) * (w * scale)[:, None]
        offset += w * bias

    total = tl.sum(acc, axis=0) + tl.sum(offset, axis=0)
    tl.store(out_ptr + bag * DIM + d, total, mask=d_live)


class ModelNew(nn.Module):
    def __init__(self, table, dim):
        super().__init__()
        self.register_buffer("rows", torch.randint(-128, 128, (table, dim), dtype=torch.int8))
        self.register_buffer("qparams", torch.rand(table, 2) * torch.tensor([0.01, 0.1]) + 0.001)  # scale, bias

    def forward(self, indices, weights):
        indices, weights = indices.contiguous(), weights.contiguous()
        bags, bag_len = indices.shape
        dim = self.rows.shape[1]
        out = torch.empty((bags, dim), dtype=torch.float32, device=indices.device)
        embedding_bag_kernel[(bags,)](self.rows, self.qparams, indices, weights, out, bag_len,
                                      DIM=dim, BLOCK_D=triton.next_power_of_2(dim), BLOCK_L=32, num_warps=4)
        return out
