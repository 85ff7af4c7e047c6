"""crop_and_resize for a detector's second stage: bilinear crops of a half-precision feature map, one sample a bin."""
import torch
import torch.nn as nn

B = 2
C = 256
H = 64
W = 96
R = 256
P = 14
SCALE = 0.125


class Model(nn.Module):
    def __init__(self, out_size, spatial_scale):
        super().__init__()
        self.p = out_size
        self.scale = spatial_scale

    def forward(self, feat, rois):
        h, w = feat.shape[-2:]
        p = self.p
        b = rois[:, 0].long()
        x1, y1, x2, y2 = (rois[:, 1:] * self.scale).unbind(1)
        t = (torch.arange(p, device=feat.device, dtype=torch.float32) + 0.5) / p
        xs = (x1[:, None] + (x2 - x1)[:, None] * t - 0.5).clamp(0, w - 1)
        ys = (y1[:, None] + (y2 - y1)[:, None] * t - 0.5).clamp(0, h - 1)
        x0, y0 = xs.floor().long(), ys.floor().long()
        xb, yb = (x0 + 1).clamp(max=w - 1), (y0 + 1).clamp(max=h - 1)
        fx = (xs - x0)[:, None, :, None]
        fy = (ys - y0)[:, :, None, None]

        def at(y, x):
            return feat[b[:, None, None], :, y[:, :, None], x[:, None, :]].float()

        top = at(y0, x0) * (1 - fx) + at(y0, xb) * fx
        bot = at(yb, x0) * (1 - fx) + at(yb, xb) * fx
        return (top * (1 - fy) + bot * fy).permute(0, 3, 1, 2).contiguous().half()


def get_inputs():
    feat = torch.randn(B, C, H, W).half()
    img_w, img_h = W / SCALE, H / SCALE
    b = torch.randint(0, B, (R,)).float()
    cx, cy = torch.rand(R) * img_w, torch.rand(R) * img_h
    bw, bh = (0.05 + 0.3 * torch.rand(R)) * img_w, (0.05 + 0.3 * torch.rand(R)) * img_h
    rois = torch.stack([b, cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2], 1)
    return [feat, rois]


def get_init_inputs():
    return [P, SCALE]
