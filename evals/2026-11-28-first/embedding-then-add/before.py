import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_places(rows, places, out, width, BW: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    w = tl.program_id(1) * BW + tl.arange(0, BW)
    ok = w < width
    word = tl.load(rows + token * width + w, mask=ok)
    place = tl.load(places + token * width + w, mask=ok)
    tl.store(out + token * width + w, word + place, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, vocab: int, tokens: int, width: int):
        super().__init__()
        self.words = nn.Parameter(torch.randn(vocab, width, dtype=torch.float16))
        self.places = nn.Parameter(torch.randn(tokens, width, dtype=torch.float16))

    def forward(self, ids):
        width = self.words.shape[1]
        rows = torch.index_select(self.words, 0, ids)
        out = torch.empty_like(rows)
        add_places[(ids.shape[0], triton.cdiv(width, 1024))](rows, self.places, out, width, BW=1024)
        return out
