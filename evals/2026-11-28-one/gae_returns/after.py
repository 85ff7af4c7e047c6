import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _compose(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def gae_kernel(rew, val, boot, alive, adv, ret, T, gamma, lam, BLOCK_T: tl.constexpr):
    b = tl.program_id(0)
    base = b.to(tl.int64) * T
    lane = tl.arange(0, BLOCK_T)
    v_boot = tl.load(boot + b)
    carry = v_boot * 0.0
    n_tiles = tl.cdiv(T, BLOCK_T)
    for i in range(0, n_tiles):
        t = (n_tiles - 1 - i) * BLOCK_T + lane
        ok = t < T
        r = tl.load(rew + base + t, mask=ok, other=0.0)
        v = tl.load(val + base + t, mask=ok, other=0.0)
        a = tl.load(alive + base + t, mask=ok, other=0.0)
        nxt = tl.load(val + base + t + 1, mask=t + 1 < T, other=0.0)
        nxt = tl.where(t + 1 == T, v_boot, nxt)
        delta = tl.where(ok, r + gamma * nxt * a - v, 0.0)
        coef = tl.where(ok, gamma * lam * a, 1.0)
        A, D = tl.associative_scan((coef, delta), 0, _compose, reverse=True)
        out = D + A * carry
        tl.store(adv + base + t, out, mask=ok)
        tl.store(ret + base + t, out + v, mask=ok)
        carry = tl.sum(tl.where(lane == 0, out, 0.0), axis=0)


class ModelNew(nn.Module):
    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, bootstrap, alive):
        B, T = rewards.shape
        adv = torch.empty_like(rewards)
        ret = torch.empty_like(rewards)
        block_t = min(1024, triton.next_power_of_2(T))
        warps = 4 if block_t >= 512 else 1
        gae_kernel[(B,)](rewards, values, bootstrap, alive, adv, ret, T, self.gamma, self.lam,
                         BLOCK_T=block_t, num_warps=warps)
        return adv, ret
