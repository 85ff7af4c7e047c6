import os
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _configs():
    cfgs = [triton.Config({"R": r}, num_warps=w) for r, w in ((32, 4), (16, 2), (32, 2), (64, 4))]
    # nothing to time on the CPU
    return cfgs[:1] if os.environ.get("TRITON_INTERPRET") == "1" else cfgs


@triton.autotune(_configs(), key=["L", "D"])
@triton.jit
def lookup_pool(ids, w, table, out, L, D: tl.constexpr, DP: tl.constexpr, R: tl.constexpr):
    bag = tl.program_id(0)
    d = tl.arange(0, DP)
    acc = tl.zeros((R, DP), tl.float32)
    for l0 in range(0, L, R):
        l = l0 + tl.arange(0, R)
        live = l < L
        item = tl.load(ids + bag * L + l, mask=live, other=0)
        scale = tl.load(w + bag * L + l, mask=live, other=0.0)
        m = live[:, None] & (d < D)[None, :]
        vec = tl.load(table + item[:, None] * D + d[None, :], mask=m, other=0.0)
        acc += vec * scale[:, None]
    tl.store(out + bag * D + d, tl.sum(acc, axis=0), mask=d < D)


class ModelNew(nn.Module):
    def __init__(self, num_items, dim):
        super().__init__()
        self.items = nn.Embedding(num_items, dim)

    def forward(self, history, weights):
        b, l = history.shape
        table = self.items.weight
        dim = table.shape[1]
        out = torch.empty(b, dim, dtype=table.dtype, device=table.device)
        lookup_pool[(b,)](
            history.contiguous(), weights.contiguous(), table, out, l,
            D=dim, DP=triton.next_power_of_2(dim),
        )
        return out
