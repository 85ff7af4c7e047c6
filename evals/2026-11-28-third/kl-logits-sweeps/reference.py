import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 8192
VOCAB = 8192


class Model(nn.Module):
    """KL divergence of a student from a teacher, one number per row, from logits."""

    def forward(self, student, teacher):
        log_q = F.log_softmax(student, dim=-1)
        log_p = F.log_softmax(teacher, dim=-1)
        return F.kl_div(log_q, log_p, log_target=True, reduction="none").sum(-1)


def get_inputs():
    return [torch.randn(ROWS, VOCAB), torch.randn(ROWS, VOCAB)]


def get_init_inputs():
    return []
