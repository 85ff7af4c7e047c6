import torch
import torch.nn as nn

QUERIES = 1
QUERY_LEN = 32
DOCS = 1024
DOC_LEN = 128
DIM = 128


class Model(nn.Module):
    """Late-interaction (ColBERT) scoring on int8 token embeddings with one scale a token."""

    def __init__(self):
        super().__init__()

    def forward(self, q, q_scale, docs, doc_scale):
        # q [B, Lq, D] int8, q_scale [B, Lq], docs [N, Ld, D] int8, doc_scale [N, Ld]
        d = docs.float()
        scores = []
        for b in range(q.shape[0]):
            sim = torch.matmul(d, q[b].float().t())              # [N, Ld, Lq]
            sim = (sim * doc_scale[:, :, None]).amax(dim=1)       # [N, Lq]
            scores.append((sim * q_scale[b][None, :]).sum(dim=1))
        return torch.stack(scores)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randint(-127, 128, (QUERIES, QUERY_LEN, DIM), dtype=torch.int8, device=dev)
    q_scale = torch.rand(QUERIES, QUERY_LEN, device=dev) * 0.01 + 0.002
    docs = torch.randint(-127, 128, (DOCS, DOC_LEN, DIM), dtype=torch.int8, device=dev)
    doc_scale = torch.rand(DOCS, DOC_LEN, device=dev) * 0.01 + 0.002
    return [q, q_scale, docs, doc_scale]


def get_init_inputs():
    return []
