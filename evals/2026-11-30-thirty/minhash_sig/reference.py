import torch
import torch.nn as nn

DOCS = 256
MAX_LEN = 128
PERMS = 128
P = 2147483647


class Model(nn.Module):
    """MinHash signatures: sig[d, k] = min over the shingles x of document d of (a_k * x + b_k) mod (2^31 - 1)."""

    def __init__(self, perms):
        super().__init__()
        g = torch.Generator().manual_seed(7)
        self.register_buffer("a", torch.randint(1, P, (perms,), generator=g, dtype=torch.int64))
        self.register_buffer("b", torch.randint(0, P, (perms,), generator=g, dtype=torch.int64))

    def forward(self, shingles, lengths):
        docs, max_len = shingles.shape
        perms = self.a.numel()
        x = shingles.long()
        pad = torch.arange(max_len, device=x.device)[None, :] >= lengths[:, None]
        sig = torch.empty(docs, perms, dtype=torch.int32, device=x.device)
        for k in range(perms):
            h = (x * self.a[k] + self.b[k]) % P
            sig[:, k] = h.masked_fill(pad, P).amin(1).int()
        return sig


def get_inputs():
    shingles = torch.randint(0, P, (DOCS, MAX_LEN), dtype=torch.int32)
    lengths = torch.randint(max(1, MAX_LEN // 2), MAX_LEN + 1, (DOCS,), dtype=torch.int32)
    return [shingles, lengths]


def get_init_inputs():
    return [PERMS]
