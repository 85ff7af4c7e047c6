import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def history_pool_kernel(
    ids_ptr, table_ptr, pos_ptr, out_ptr,
    history, dim,
    BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr,
):
    user = tl.program_id(0)
    d = tl.arange(0, BLOCK_D)
    d_mask = d < dim

    # the whole history at once: every row of the user is in flight together
    h = tl.arange(0, BLOCK_H)
    in_range = h < history
    ids = tl.load(ids_ptr + user * history + h, mask=in_range, other=-1)
    w = tl.load(pos_ptr + h, mask=in_range, other=0.0)
    valid = ids >= 0
    w = tl.where(valid, w, 0.0)
    # padded slots are masked, so they cause no traffic
    rows = tl.load(
        table_ptr + ids[:, None] * dim + d[None, :],
        mask=valid[:, None] & d_mask[None, :],
        other=0.0,
    )
    total = tl.maximum(tl.sum(w, axis=0), 1e-6)
    pooled = tl.sum(rows.to(tl.float32) * w[:, None], axis=0) / total
    tl.store(out_ptr + user * dim + d, pooled.to(tl.float16), mask=d_mask)


class ModelNew(nn.Module):
    def __init__(self, items, dim, history):
        super().__init__()
        self.table = nn.Parameter((torch.randn(items, dim) * 0.1).half(), requires_grad=False)
        self.pos_weight = nn.Parameter(torch.linspace(1.0, 0.25, history))

    def forward(self, ids):
        ids = ids.contiguous()
        users, history = ids.shape
        dim = self.table.shape[1]
        out = torch.empty(users, dim, device=ids.device, dtype=torch.float16)
        history_pool_kernel[(users,)](
            ids, self.table, self.pos_weight, out,
            history, dim,
            BLOCK_H=triton.next_power_of_2(history), BLOCK_D=triton.next_power_of_2(dim), num_warps=4,
        )
        return out
