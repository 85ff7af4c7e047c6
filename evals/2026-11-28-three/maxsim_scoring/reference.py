import torch
import torch.nn as nn

QUERIES = 4
QUERY_LEN = 32
DOCS = 4096
DOC_LEN = 180
DIM = 128
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """ColBERT late interaction: sum over query tokens of the best matching document token."""

    def __init__(self):
        super().__init__()

    def forward(self, q, docs, doc_len):
        sim = torch.einsum("bqd,nkd->bnqk", q.float(), docs.float())
        pos = torch.arange(docs.shape[1], device=docs.device)
        pad = pos[None, :] >= doc_len[:, None]
        sim = sim.masked_fill(pad[None, :, None, :], float("-inf"))
        return sim.amax(dim=-1).sum(dim=-1)


def get_inputs():
    q = torch.nn.functional.normalize(torch.randn(QUERIES, QUERY_LEN, DIM), dim=-1)
    d = torch.nn.functional.normalize(torch.randn(DOCS, DOC_LEN, DIM), dim=-1)
    doc_len = torch.randint(DOC_LEN // 2, DOC_LEN + 1, (DOCS,), dtype=torch.int32)
    return [q.half().to(DEVICE), d.half().to(DEVICE), doc_len.to(DEVICE)]


def get_init_inputs():
    return []
