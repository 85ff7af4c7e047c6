"""CTC head of a speech recogniser: tempered log-probabilities per frame, with the blank's and the best score."""
import torch
import torch.nn as nn

BATCH = 16
FRAMES = 250
VOCAB = 4000
TEMPERATURE = 1.3


class Model(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, logits, lengths):
        logp = torch.log_softmax(logits.float() / self.temperature, dim=-1)
        valid = torch.arange(logits.shape[1], device=logits.device)[None, :] < lengths[:, None]
        logp = torch.where(valid[:, :, None], logp, torch.zeros_like(logp))
        return logp.to(torch.bfloat16), logp[:, :, 0].contiguous(), logp.amax(dim=-1)


def get_inputs():
    logits = (3.0 * torch.randn(BATCH, FRAMES, VOCAB)).to(torch.bfloat16)
    lengths = torch.randint(FRAMES * 3 // 4, FRAMES + 1, (BATCH,), dtype=torch.int32)
    return [logits, lengths]


def get_init_inputs():
    return [TEMPERATURE]
