import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _fp8_linear(
    ACT, W, Y, SA, SW, tokens, d_out, d_in,
    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(tokens, TM)
    tiles_n = tl.cdiv(d_out, TN)
    per_group = GROUP * tiles_n
    first = (pid // per_group) * GROUP
    rows = min(tiles_m - first, GROUP)
    tile_m = first + (pid % per_group) % rows
    tile_n = (pid % per_group) // rows

    m = tile_m * TM + tl.arange(0, TM)
    n = tile_n * TN + tl.arange(0, TN)
    k = tl.arange(0, TK)
    act = ACT + m[:, None] * d_in + k[None, :]
    w = W + n[None, :] * d_in + k[:, None]
    acc = tl.zeros((TM, TN), tl.float32)
    for start in range(0, d_in, TK):
        in_k = start + k < d_in
        x = tl.load(act, mask=(m[:, None] < tokens) & in_k[None, :], other=0.0)
        y = tl.load(w, mask=(n[None, :] < d_out) & in_k[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
        act += TK
        w += TK
    acc *= tl.load(SA) * tl.load(SW)
    tl.store(Y + m[:, None] * d_out + n[None, :], acc.to(Y.dtype.element_ty), mask=(m[:, None] < tokens) & (n[None, :] < d_out))


class ModelNew(nn.Module):
    def forward(self, act, weight, act_scale, weight_scale):
        tokens, d_in = act.shape
        d_out = weight.shape[0]
        y = torch.empty(tokens, d_out, dtype=torch.float16, device=act.device)
        grid = lambda meta: (triton.cdiv(tokens, meta["TM"]) * triton.cdiv(d_out, meta["TN"]),)
        _fp8_linear[grid](
            act, weight, y, act_scale, weight_scale, tokens, d_out, d_in,
            TM=128, TN=128, TK=128, GROUP=8, num_warps=8, num_stages=3,
        )
        return y
