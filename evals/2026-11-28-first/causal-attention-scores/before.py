import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_scores(Q, K, S, seq, scale, CH: tl.constexpr, B: tl.constexpr):
    z = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    c = tl.arange(0, CH)
    q = tl.load(Q + z * seq * CH + i[:, None] * CH + c[None, :], mask=i[:, None] < seq, other=0.0)
    k = tl.load(K + z * seq * CH + j[:, None] * CH + c[None, :], mask=j[:, None] < seq, other=0.0)
    s = tl.dot(q, tl.trans(k)) * scale
    s = tl.where(i[:, None] >= j[None, :], s, float("-inf"))
    tl.store(S + z * seq * seq + i[:, None] * seq + j[None, :], s, mask=(i[:, None] < seq) & (j[None, :] < seq))


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        b, h, n, c = q.shape
        scores = torch.empty((b, h, n, n), dtype=torch.float32, device=q.device)
        tiles = triton.cdiv(n, 64)
        causal_scores[(tiles, tiles, b * h)](q, k, scores, n, c**-0.5, CH=c, B=64)
        probs = torch.softmax(scores, dim=-1).to(v.dtype)
        return torch.matmul(probs, v)
