import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def viterbi_step(score_in, trans, emit, score_out, stride_b, TAGS: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    keep = i < TAGS
    score = tl.load(score_in + b * TAGS + i, mask=keep, other=float("-inf"))
    pairs = keep[:, None] & keep[None, :]
    move = tl.load(trans + i[:, None] * TAGS + i[None, :], mask=pairs, other=float("-inf"))
    best = tl.max(score[:, None] + move, axis=0)
    e = tl.load(emit + b * stride_b + i, mask=keep, other=0.0)
    tl.store(score_out + b * TAGS + i, best + e, mask=keep)


class ModelNew(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.tags = tags
        self.transitions = nn.Parameter(torch.randn(tags, tags))

    def forward(self, emissions):
        batch, steps, tags = emissions.shape
        score = emissions[:, 0].contiguous()
        other = torch.empty_like(score)
        block = triton.next_power_of_2(tags)
        t = 1
        while t < steps:
            viterbi_step[(batch,)](
                score, self.transitions, emissions[:, t], other, emissions.stride(0), TAGS=tags, BLOCK=block
            )
            score, other = other, score
            t += 1
        return score.amax(dim=1)
