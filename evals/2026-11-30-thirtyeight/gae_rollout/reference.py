"""Generalised advantage estimation over a batch of rollouts, batch-major as the replay writer stores them."""
import torch
import torch.nn as nn

B = 8192
T = 1024
GAMMA = 0.99
LAM = 0.95


class Model(nn.Module):
    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, dones):
        # rewards, dones: [B, T]; values: [B, T + 1] (the last one is the bootstrap value)
        steps = rewards.shape[1]
        cont = 1.0 - dones
        delta = rewards + self.gamma * values[:, 1:] * cont - values[:, :-1]
        adv = torch.empty_like(rewards)
        run = torch.zeros_like(rewards[:, 0])
        for t in range(steps - 1, -1, -1):
            run = delta[:, t] + self.gamma * self.lam * cont[:, t] * run
            adv[:, t] = run
        return adv, adv + values[:, :-1]


def get_inputs():
    rewards = torch.randn(B, T)
    values = torch.randn(B, T + 1)
    dones = (torch.rand(B, T) < 0.02).float()
    return [rewards, values, dones]


def get_init_inputs():
    return [GAMMA, LAM]
