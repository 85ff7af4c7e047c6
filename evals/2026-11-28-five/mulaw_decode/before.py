import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_kernel(codes_ptr, table_ptr, out_ptr, total, BLOCK: tl.constexpr):
    pos = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = pos < total
    code = tl.load(codes_ptr + pos, mask=inside, other=0).to(tl.int32)
    sample = tl.load(table_ptr + code)
    tl.store(out_ptr + pos, sample, mask=inside)


def decode(codes, table):
    codes = codes.contiguous()
    out = torch.empty(codes.shape, device=codes.device, dtype=table.dtype)
    total = codes.numel()
    BLOCK = 2048
    decode_kernel[(triton.cdiv(total, BLOCK),)](codes, table, out, total, BLOCK=BLOCK, num_warps=8)
    return out


class ModelNew(nn.Module):
    def __init__(self, mu, levels):
        super().__init__()
        q = torch.arange(levels, dtype=torch.float32) / (levels - 1) * 2.0 - 1.0
        self.register_buffer("table", torch.sign(q) * ((1.0 + mu) ** q.abs() - 1.0) / mu)

    def forward(self, codes):
        return decode(codes, self.table)
