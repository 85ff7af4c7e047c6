"""Late-interaction (ColBERT) scoring: score[d] = sum_i w[i] * max_{j < len[d]} <q_i, doc[d, j]>."""
import torch
import torch.nn as nn

N_DOCS = 20000
DOC_LEN = 128
QUERY_LEN = 32
DIM = 64


class Model(nn.Module):
    def __init__(self, query_len):
        super().__init__()
        self.term_weight = nn.Parameter(0.5 + torch.rand(query_len))

    def forward(self, query, docs, doc_lens):
        sims = torch.matmul(docs.float(), query.float().t())
        pos = torch.arange(docs.shape[1], device=docs.device)
        pad = pos[None, :] >= doc_lens[:, None]
        sims = sims.masked_fill(pad[:, :, None], float("-inf"))
        return (sims.amax(dim=1) * self.term_weight).sum(dim=1)


def get_inputs():
    query = torch.nn.functional.normalize(torch.randn(QUERY_LEN, DIM), dim=-1).half()
    docs = torch.nn.functional.normalize(torch.randn(N_DOCS, DOC_LEN, DIM), dim=-1).half()
    doc_lens = torch.randint(DOC_LEN * 3 // 4, DOC_LEN + 1, (N_DOCS,), dtype=torch.int32)
    return [query, docs, doc_lens]


def get_init_inputs():
    return [QUERY_LEN]
