import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _gae_step(r_ptr, v_ptr, v_next_ptr, done_ptr, carry_ptr, adv_ptr, ret_ptr,
              num_envs, gamma, lam, BLOCK: tl.constexpr):
    env = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = env < num_envs
    r = tl.load(r_ptr + env, mask=m, other=0.0)
    v = tl.load(v_ptr + env, mask=m, other=0.0)
    v_next = tl.load(v_next_ptr + env, mask=m, other=0.0)
    alive = 1.0 - tl.load(done_ptr + env, mask=m, other=0.0)
    carry = tl.load(carry_ptr + env, mask=m, other=0.0)

    delta = r + gamma * v_next * alive - v
    carry = delta + gamma * lam * alive * carry

    tl.store(carry_ptr + env, carry, mask=m)
    tl.store(adv_ptr + env, carry, mask=m)
    tl.store(ret_ptr + env, carry + v, mask=m)


def compute_gae(rewards, values, dones, next_value, gamma, lam):
    steps, envs = rewards.shape
    advantages = torch.empty_like(rewards)
    returns = torch.empty_like(rewards)
    carry = torch.zeros_like(next_value)
    BLOCK = 256
    grid = (triton.cdiv(envs, BLOCK),)
    v_next = next_value
    for t in range(steps - 1, -1, -1):
        _gae_step[grid](
            rewards[t], values[t], v_next, dones[t], carry, advantages[t], returns[t],
            envs, gamma, lam, BLOCK=BLOCK,
        )
        v_next = values[t]
    return advantages, returns


class ModelNew(nn.Module):
    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, dones, next_value):
        return compute_gae(
            rewards.contiguous(), values.contiguous(), dones.contiguous(), next_value.contiguous(),
            self.gamma, self.lam,
        )
