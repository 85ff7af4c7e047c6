import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bag_mean_kernel(table_ptr, items_ptr, lengths_ptr, out_ptr, max_len, dim,
                    BLOCK_L: tl.constexpr, BLOCK_D: tl.constexpr):
    bag = tl.program_id(0)
    steps = tl.arange(0, BLOCK_L)
    cols = tl.arange(0, BLOCK_D)
    col_mask = cols < dim

    length = tl.load(lengths_ptr + bag)
    items = tl.load(items_ptr + bag * max_len + steps, mask=steps < max_len, other=0)
    keep = steps < length
    # all rows of the bag are requested at once; rows beyond the length are never read
    rows = tl.load(
        table_ptr + items[:, None] * dim + cols[None, :],
        mask=keep[:, None] & col_mask[None, :],
        other=0.0,
    )
    total = tl.sum(rows.to(tl.float32), axis=0)
    mean = total / tl.maximum(length, 1).to(tl.float32)
    tl.store(out_ptr + bag * dim + cols, mean.to(tl.float16), mask=col_mask)


class ModelNew(nn.Module):
    def __init__(self, num_items, dim):
        super().__init__()
        self.table = nn.Parameter((torch.randn(num_items, dim) * 0.1).half(), requires_grad=False)

    def forward(self, items, lengths):
        items = items.contiguous()
        n_bags, max_len = items.shape
        dim = self.table.shape[1]
        out = torch.empty((n_bags, dim), device=items.device, dtype=torch.float16)
        bag_mean_kernel[(n_bags,)](
            self.table, items, lengths, out, max_len, dim,
            BLOCK_L=triton.next_power_of_2(max_len),
            BLOCK_D=triton.next_power_of_2(dim),
            num_warps=4,
        )
        return out
