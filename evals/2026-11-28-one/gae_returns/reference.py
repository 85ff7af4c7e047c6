import torch
import torch.nn as nn

BATCH = 2048
STEPS = 512
GAMMA = 0.99
LAM = 0.95


class Model(nn.Module):
    """Generalised advantage estimation over (batch, time) rollouts; returns advantages and value targets."""

    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, bootstrap, alive):
        nxt = torch.cat([values[:, 1:], bootstrap[:, None]], dim=1)
        delta = rewards + self.gamma * nxt * alive - values
        coef = self.gamma * self.lam * alive
        adv = torch.empty_like(rewards)
        run = torch.zeros_like(bootstrap)
        for t in range(rewards.shape[1] - 1, -1, -1):
            run = torch.addcmul(delta[:, t], coef[:, t], run)
            adv[:, t] = run
        return adv, adv + values


def get_inputs():
    rewards = torch.randn(BATCH, STEPS)
    values = torch.randn(BATCH, STEPS)
    bootstrap = torch.randn(BATCH)
    alive = (torch.rand(BATCH, STEPS) > 0.01).float()
    return [rewards, values, bootstrap, alive]


def get_init_inputs():
    return [GAMMA, LAM]
