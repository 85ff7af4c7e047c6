import torch
import torch.nn as nn

T = 2048      # rollout length
E = 1024      # parallel environments
GAMMA = 0.99
LAM = 0.95


class Model(nn.Module):
    """Generalised advantage estimation over a [T, E] rollout buffer."""

    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, dones):
        steps = rewards.shape[0]
        adv = torch.zeros_like(rewards)
        last = torch.zeros_like(rewards[0])
        alive = 1.0 - dones.float()
        for t in range(steps - 1, -1, -1):
            delta = rewards[t] + self.gamma * values[t + 1] * alive[t] - values[t]
            last = delta + self.gamma * self.lam * alive[t] * last
            adv[t] = last
        return adv, adv + values[:-1]


def get_inputs():
    rewards = torch.randn(T, E)
    values = torch.randn(T + 1, E)      # the last row is the bootstrap value
    dones = (torch.rand(T, E) < 0.01).to(torch.uint8)
    return [rewards, values, dones]


def get_init_inputs():
    return [GAMMA, LAM]
