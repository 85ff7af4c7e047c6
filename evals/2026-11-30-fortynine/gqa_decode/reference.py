import torch
import torch.nn as nn

BATCH = 64
N_HEADS = 32
N_KV_HEADS = 4
MAX_LEN = 4096
HEAD_DIM = 128


class Model(nn.Module):
    """One decode step of grouped-query attention over a contiguous KV cache."""

    def __init__(self, n_heads, n_kv_heads, head_dim):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.scale = head_dim ** -0.5

    def forward(self, q, k_cache, v_cache, seq_lens):
        B, H, D = q.shape
        S = k_cache.shape[2]
        qg = q.view(B, self.n_kv_heads, H // self.n_kv_heads, D).float()
        s = torch.matmul(qg, k_cache.float().transpose(2, 3)) * self.scale
        valid = torch.arange(S, device=q.device)[None, :] < seq_lens[:, None]
        s = s.masked_fill(~valid[:, None, None, :], float("-inf"))
        o = torch.matmul(torch.softmax(s, dim=-1), v_cache.float())
        return o.reshape(B, H, D).to(q.dtype)


def get_inputs():
    q = torch.randn(BATCH, N_HEADS, HEAD_DIM).half()
    k = torch.randn(BATCH, N_KV_HEADS, MAX_LEN, HEAD_DIM).half()
    v = torch.randn(BATCH, N_KV_HEADS, MAX_LEN, HEAD_DIM).half()
    lens = torch.randint(3 * MAX_LEN // 4, MAX_LEN + 1, (BATCH,), dtype=torch.int32)
    return [q, k, v, lens]


def get_init_inputs():
    return [N_HEADS, N_KV_HEADS, HEAD_DIM]
