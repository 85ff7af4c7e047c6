import os
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _configs():
    cfgs = [triton.Config({"R": r}, num_warps=w) for r, w in ((32, 4), (16, 2), (32, 2), (64, 4))]
    # nothing to time on the CPU
    return cfgs[:1] if os.environ.get("TRITON_INTERPRET") == "1" else cfgs


@triton.autotune(_configs(), key=["total", "D"])
@triton.jit
def lookup_scale(ids, w, table, rows, total, D: tl.constexpr, DP: tl.constexpr, R: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    d = tl.arange(0, DP)
    live = r < total
    item = tl.load(ids + r, mask=live, other=0)
    scale = tl.load(w + r, mask=live, other=0.0)
    m = live[:, None] & (d < D)[None, :]
    vec = tl.load(table + item[:, None] * D + d[None, :], mask=m, other=0.0)
    tl.store(rows + r[:, None].to(tl.int64) * D + d[None, :], vec * scale[:, None], mask=m)


class ModelNew(nn.Module):
    def __init__(self, num_items, dim):
        super().__init__()
        self.items = nn.Embedding(num_items, dim)

    def forward(self, history, weights):
        b, l = history.shape
        table = self.items.weight
        dim = table.shape[1]
        rows = torch.empty(b, l, dim, dtype=table.dtype, device=table.device)
        lookup_scale[lambda meta: (triton.cdiv(b * l, meta["R"]),)](
            history.contiguous(), weights.contiguous(), table, rows, b * l,
            D=dim, DP=triton.next_power_of_2(dim),
        )
        return rows.sum(dim=1)
