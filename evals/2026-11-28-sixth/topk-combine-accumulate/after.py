import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def combine_rows(y_ptr, gate_ptr, residual_ptr, out_ptr, tokens, dim, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < dim
    offset = token.to(tl.int64) * dim + col
    acc = tl.load(residual_ptr + offset, mask=mask).to(tl.float32)
    for slot in tl.static_range(TOP_K):
        gate = tl.load(gate_ptr + token * TOP_K + slot)
        y = tl.load(y_ptr + slot * tokens.to(tl.int64) * dim + offset, mask=mask)
        acc += gate * y.to(tl.float32)
    tl.store(out_ptr + offset, acc.to(out_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def forward(self, expert_out, gates, residual):
        top_k, tokens, dim = expert_out.shape
        out = torch.empty_like(residual)
        grid = (tokens, triton.cdiv(dim, 1024))
        combine_rows[grid](expert_out, gates, residual, out, tokens, dim, TOP_K=top_k, BLOCK=1024)
        return out
