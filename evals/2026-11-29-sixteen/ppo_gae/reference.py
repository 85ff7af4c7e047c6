import torch
import torch.nn as nn

STEPS = 256
ENVS = 8192
GAMMA = 0.99
LAM = 0.95


class Model(nn.Module):
    """Generalised advantage estimation over a rollout buffer (time major)."""

    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, dones, next_value):
        adv = torch.zeros_like(rewards)
        last = torch.zeros_like(next_value)
        nxt = next_value
        for t in reversed(range(rewards.shape[0])):
            alive = 1.0 - dones[t]
            delta = rewards[t] + self.gamma * nxt * alive - values[t]
            last = delta + self.gamma * self.lam * alive * last
            adv[t] = last
            nxt = values[t]
        return adv, adv + values


def get_inputs():
    rewards = torch.randn(STEPS, ENVS)
    values = torch.randn(STEPS, ENVS)
    dones = (torch.rand(STEPS, ENVS) < 0.02).float()
    next_value = torch.randn(ENVS)
    return [rewards, values, dones, next_value]


def get_init_inputs():
    return [GAMMA, LAM]
