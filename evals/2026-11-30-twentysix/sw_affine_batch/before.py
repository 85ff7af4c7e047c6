"""Smith-Waterman local alignment scores with affine gaps: one lane per read pair (inter-sequence parallelism)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sw_kernel(q_ptr, t_ptr, hrow_ptr, erow_ptr, best_ptr, batch, LQ, LT,
              match, mismatch, gap_open, gap_extend,
              LANES: tl.constexpr, NEG: tl.constexpr):
    pair = tl.program_id(0) * LANES + tl.arange(0, LANES)
    live = pair < batch
    q_base = q_ptr + pair * LQ
    t_base = t_ptr + pair * LT
    h_base = hrow_ptr + pair * LT
    e_base = erow_ptr + pair * LT

    best = tl.zeros((LANES,), dtype=tl.int32)
    for i in range(LQ):
        qi = tl.load(q_base + i, mask=live, other=0)
        up_ok = live & (i > 0)                       # row 0 sees the zero border
        h_diag = tl.zeros((LANES,), dtype=tl.int32)
        h_left = tl.zeros((LANES,), dtype=tl.int32)
        f = tl.full((LANES,), NEG, dtype=tl.int32)
        for j in range(LT):
            tj = tl.load(t_base + j, mask=live, other=0)
            h_up = tl.load(h_base + j, mask=up_ok, other=0)
            e = tl.load(e_base + j, mask=up_ok, other=NEG)
            e = tl.maximum(e - gap_extend, h_up - gap_open)
            f = tl.maximum(f - gap_extend, h_left - gap_open)
            s = tl.where(qi == tj, match, mismatch)
            h = tl.maximum(tl.maximum(h_diag + s, 0), tl.maximum(e, f))
            tl.store(h_base + j, h, mask=live)
            tl.store(e_base + j, e, mask=live)
            best = tl.maximum(best, h)
            h_diag = h_up
            h_left = h
    tl.store(best_ptr + pair, best, mask=live)


class ModelNew(nn.Module):
    def __init__(self, match, mismatch, gap_open, gap_extend):
        super().__init__()
        self.match, self.mismatch = match, mismatch
        self.gap_open, self.gap_extend = gap_open, gap_extend

    def forward(self, query, target):
        batch, lq = query.shape
        lt = target.shape[1]
        hrow = torch.empty((batch, lt), dtype=torch.int32, device=query.device)
        erow = torch.empty((batch, lt), dtype=torch.int32, device=query.device)
        best = torch.empty(batch, dtype=torch.int32, device=query.device)
        LANES = 32
        sw_kernel[(triton.cdiv(batch, LANES),)](
            query, target, hrow, erow, best, batch, lq, lt,
            self.match, self.mismatch, self.gap_open, self.gap_extend,
            LANES=LANES, NEG=-(1 << 20), num_warps=1)
        return best
