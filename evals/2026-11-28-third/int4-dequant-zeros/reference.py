import torch
import torch.nn as nn

OUT = 8192
IN = 8192
GROUP = 128


class Model(nn.Module):
    """Unpacks int4 weights (two in a byte, low nibble first) and scales them by group, to fp16."""

    def forward(self, packed, scales):
        low, high = packed & 0xF, packed >> 4
        q = torch.stack([low, high], dim=-1).reshape(packed.shape[0], -1)
        q = (q.to(torch.int8) - 8).to(torch.float16)
        group = q.shape[1] // scales.shape[1]
        return q * scales.repeat_interleave(group, dim=1)


def get_inputs():
    packed = torch.randint(0, 256, (OUT, IN // 2), dtype=torch.uint8)
    scales = (torch.rand(OUT, IN // GROUP) * 0.1).half()
    return [packed, scales]


def get_init_inputs():
    return []
