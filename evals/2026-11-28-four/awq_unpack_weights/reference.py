import torch
import torch.nn as nn

IN_FEATURES = 8192
OUT_FEATURES = 14336
GROUP = 128


class Model(nn.Module):
    """Expands 4-bit weights (eight per int32 along the output axis, interleaved order) to fp16."""

    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, qweight, scales, qzeros):
        k, n8 = qweight.shape
        order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], device=qweight.device, dtype=torch.int32) * 4
        w = ((qweight[:, :, None] >> order) & 15).view(k, n8 * 8).half()
        z = ((qzeros[:, :, None] >> order) & 15).view(-1, n8 * 8).half()
        w = w.view(-1, self.group, n8 * 8)
        return ((w - z[:, None, :]) * scales[:, None, :]).view(k, n8 * 8)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    shape = (IN_FEATURES, OUT_FEATURES // 8)
    qweight = torch.randint(-(2 ** 31), 2 ** 31 - 1, shape, device=dev, dtype=torch.int32)
    scales = (torch.rand(IN_FEATURES // GROUP, OUT_FEATURES, device=dev) * 0.02 + 0.005).half()
    qzeros = torch.randint(-(2 ** 31), 2 ** 31 - 1, (IN_FEATURES // GROUP, OUT_FEATURES // 8), device=dev, dtype=torch.int32)
    return [qweight, scales, qzeros]


def get_init_inputs():
    return [GROUP]
