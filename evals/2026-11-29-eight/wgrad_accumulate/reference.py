import torch
import torch.nn as nn

TOKENS = 32768
D_IN = 4096
D_OUT = 4096
LOSS_SCALE = 128.0


class Model(nn.Module):
    """Weight gradient of a linear layer, unscaled and added to the fp32 main gradient."""

    def __init__(self, loss_scale):
        super().__init__()
        self.loss_scale = loss_scale

    def forward(self, x, dy, main_grad):
        dw = dy.t() @ x
        return main_grad + dw.float() / self.loss_scale


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(TOKENS, D_IN, device=device).half()
    dy = torch.randn(TOKENS, D_OUT, device=device).half()
    main_grad = torch.randn(D_OUT, D_IN, device=device)
    return [x, dy, main_grad]


def get_init_inputs():
    return [LOSS_SCALE]
