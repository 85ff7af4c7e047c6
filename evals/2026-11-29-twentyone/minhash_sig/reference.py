"""MinHash signatures of byte documents (near-duplicate detection): 5-byte shingles, K permutations."""
import torch
import torch.nn as nn

DOCS = 1024
LENGTH = 1024
HASHES = 128
SHINGLE = 5
M32 = 0xFFFFFFFF


class Model(nn.Module):
    def __init__(self, hashes, shingle):
        super().__init__()
        self.shingle = shingle
        self.register_buffer("mul", torch.randint(1, 2**31 - 1, (hashes,), dtype=torch.int32) | 1)
        self.register_buffer("add", torch.randint(0, 2**31 - 1, (hashes,), dtype=torch.int32))

    def forward(self, text, lengths):
        count = text.shape[1] - self.shingle + 1
        x = text.to(torch.int64)
        h = torch.full((text.shape[0], count), 2166136261, dtype=torch.int64, device=text.device)
        for j in range(self.shingle):  # FNV-1a over the shingle's bytes
            h = ((h ^ x[:, j:j + count]) * 16777619) & M32
        valid = torch.arange(count, device=text.device)[None, :] + self.shingle <= lengths[:, None]
        rows = []
        for k in range(self.mul.shape[0]):
            v = (h * self.mul[k].to(torch.int64) + self.add[k].to(torch.int64)) & M32
            v = (v ^ (v >> 15)) >> 1
            rows.append(torch.where(valid, v, 0x7FFFFFFF).amin(dim=1))
        return torch.stack(rows, dim=1).to(torch.int32)


def get_inputs():
    text = torch.randint(32, 127, (DOCS, LENGTH), dtype=torch.uint8)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (DOCS,), dtype=torch.int32)
    return [text, lengths]


def get_init_inputs():
    return [HASHES, SHINGLE]
