import torch
import torch.nn as nn

ENVS = 4096
STEPS = 1024


class Model(nn.Module):
    """Generalised advantage estimation: A[t] = delta[t] + gamma * lam * (1 - done[t]) * A[t+1], with
    delta[t] = r[t] + gamma * (1 - done[t]) * v[t+1] - v[t]. All [envs, steps], values [envs, steps + 1]."""

    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma, self.lam = gamma, lam

    def forward(self, rewards, values, dones):
        live = 1.0 - dones
        delta = rewards + self.gamma * live * values[:, 1:] - values[:, :-1]
        advantage = torch.zeros_like(rewards)
        running = torch.zeros_like(rewards[:, 0])
        for t in reversed(range(rewards.shape[1])):
            running = delta[:, t] + self.gamma * self.lam * live[:, t] * running
            advantage[:, t] = running
        return advantage


def get_inputs():
    return [torch.randn(ENVS, STEPS), torch.randn(ENVS, STEPS + 1), (torch.rand(ENVS, STEPS) < 0.02).float()]


def get_init_inputs():
    return [0.99, 0.95]
