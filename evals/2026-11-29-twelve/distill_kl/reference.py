import torch
import torch.nn as nn

TOKENS = 2048
VOCAB = 64000
TEMPERATURE = 2.0


class Model(nn.Module):
    """Per-token forward KL(teacher || student) for logit distillation."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, student, teacher):
        t = self.temperature
        log_q = torch.log_softmax(student.float() / t, dim=-1)
        log_p = torch.log_softmax(teacher.float() / t, dim=-1)
        return (log_p.exp() * (log_p - log_q)).sum(dim=-1) * (t * t)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    student = (torch.randn(TOKENS, VOCAB, device=device) * 2).half()
    teacher = (torch.randn(TOKENS, VOCAB, device=device) * 2).half()
    return [student, teacher]


def get_init_inputs():
    return [TEMPERATURE]
