import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pad_pos_kernel(val_ptr, off_ptr, pos_ptr, out_ptr, max_len,
                   D: tl.constexpr, BLOCK_L: tl.constexpr, BLOCK_D: tl.constexpr):
    # one program: BLOCK_L positions of one sequence, padding included
    t = tl.program_id(0) * BLOCK_L + tl.arange(0, BLOCK_L)
    b = tl.program_id(1)
    cols = tl.arange(0, BLOCK_D)
    start = tl.load(off_ptr + b)
    length = tl.load(off_ptr + b + 1) - start

    in_out = (t[:, None] < max_len) & (cols[None, :] < D)
    real = in_out & (t[:, None] < length)
    place = t[:, None] * D + cols[None, :]
    # sequences start anywhere in the pool, and the pool may pass 2**31 elements
    v = tl.load(val_ptr + start * D + place, mask=real, other=0.0)
    p = tl.load(pos_ptr + place, mask=real, other=0.0)
    y = v.to(tl.float32) + p.to(tl.float32)
    out_row = out_ptr + b.to(tl.int64) * max_len * D
    tl.store(out_row + place, y.to(tl.bfloat16), mask=in_out)


class ModelNew(nn.Module):
    def __init__(self, max_len, dim):
        super().__init__()
        self.pos = nn.Parameter((torch.randn(max_len, dim) * 0.02).to(torch.bfloat16))

    def forward(self, values, offsets):
        values = values.contiguous()
        max_len, dim = self.pos.shape
        batch = offsets.numel() - 1
        out = torch.empty(batch, max_len, dim, dtype=torch.bfloat16, device=values.device)
        BLOCK_L = 16
        grid = (triton.cdiv(max_len, BLOCK_L), batch)
        pad_pos_kernel[grid](values, offsets, self.pos, out, max_len,
                             D=dim, BLOCK_L=BLOCK_L, BLOCK_D=triton.next_power_of_2(dim),
                             num_warps=4)
        return out
