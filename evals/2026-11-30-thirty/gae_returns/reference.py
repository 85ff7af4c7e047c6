import torch
import torch.nn as nn

T = 128
N = 1024
GAMMA = 0.99
LAM = 0.95


class Model(nn.Module):
    """Generalised advantage estimation over a time-major rollout [T, N]; returns (advantages, value targets)."""

    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, dones, last_value):
        T = rewards.shape[0]
        not_done = 1.0 - dones.float()
        adv = torch.empty_like(rewards)
        running = torch.zeros_like(last_value)
        next_value = last_value
        for t in range(T - 1, -1, -1):
            delta = rewards[t] + self.gamma * next_value * not_done[t] - values[t]
            running = delta + self.gamma * self.lam * not_done[t] * running
            adv[t] = running
            next_value = values[t]
        return adv, adv + values


def get_inputs():
    rewards = torch.randn(T, N)
    values = torch.randn(T, N)
    dones = (torch.rand(T, N) < 0.01).to(torch.uint8)
    last_value = torch.randn(N)
    return [rewards, values, dones, last_value]


def get_init_inputs():
    return [GAMMA, LAM]
