"""The neighbours of what a program computes are loaded from where they stand: no well-written kernel has them from other lanes."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.analysis import best_change, read_program
from kernlint.headroom.headroom import Headroom
from kernlint.request import Request

#: A lattice of doubles that ends where it begins, a step of which is BODY.
LATTICE = """
@triton.jit
def step(x, out, H, W, BH: tl.constexpr, BW: tl.constexpr):
    r = tl.program_id(1) * BH + tl.arange(0, BH)
    c = tl.program_id(0) * BW + tl.arange(0, BW)
    up, down = tl.where(r == 0, H - 1, r - 1), tl.where(r == H - 1, 0, r + 1)
    left, right = tl.where(c == 0, W - 1, c - 1), tl.where(c == W - 1, 0, c + 1)
    here = r[:, None] * W + c[None, :]
    one = tl.load(x + here)
BODY
    tl.store(out + here, one)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        step[(x.shape[1] // 128, x.shape[0] // 8)](x, out, *x.shape, BH=8, BW=128, num_warps=8)
        return out

def get_inputs():
    return [torch.rand(1024, 1024, dtype=torch.float64)]
"""
NEIGHBOURS = """
one += tl.load(x + up[:, None] * W + c[None, :]) + tl.load(x + down[:, None] * W + c[None, :])
one += tl.load(x + r[:, None] * W + left[None, :]) + tl.load(x + r[:, None] * W + right[None, :])
"""
#: The same without an end: the loads are masked there, and L1 has for one what another one loaded.
INNER = """
one += tl.load(x + here - W, mask=(r > 0)[:, None], other=0) + tl.load(x + here + W, mask=(r < H - 1)[:, None], other=0)
one += tl.load(x + here - 1, mask=(c > 0)[None, :], other=0) + tl.load(x + here + 1, mask=(c < W - 1)[None, :], other=0)
"""
#: What all programs of a column load.
SAME = "for row in range(256):\n    one += tl.load(x + row * W + c)[None, :]\n"
REFERENCE = """
class Model(torch.nn.Module):
    def forward(self, x):
        return BODY

def get_inputs():
    return [torch.rand(1024, 1024, dtype=torch.float64)]
"""
ROLLS = "x + torch.roll(x, 1, 0) + torch.roll(x, -1, 0) + torch.roll(x, 1, 1) + torch.roll(x, -1, 1)"


def headroom_of(body: str, reference: str | None) -> Headroom:
    source = HEADER + LATTICE.replace("BODY", textwrap.indent(body.strip("\n"), "    "))
    torch_side = "import torch\n" + REFERENCE.replace("BODY", reference) if reference else None
    found = best_change(read_program(Request(source, reference=torch_side, device="h200")), "gpu").headroom
    assert found is not None
    return found


@pytest.mark.parametrize(("body", "reference"), [(NEIGHBOURS, ROLLS), (NEIGHBOURS, None), (INNER, None)])
def test_neighbours_are_no_repeated_reads(body: str, reference: str | None) -> None:
    found = headroom_of(body, reference)
    assert found.ratio < (1.3 if body == INNER else 1.1)
    assert all(cause.alone_us < 0.05 * found.now_us for cause in found.causes if cause.name == "repeated reads")


@pytest.mark.parametrize("reference", ["x + x[:256].sum(0)", None])
def test_the_same_elements_again_are(reference: str | None) -> None:
    found = headroom_of(SAME, reference)
    assert found.ratio > 1.2
    assert any(cause.alone_us > 0.15 * found.now_us for cause in found.causes if cause.name == "repeated reads")


def test_what_is_moved_along_alone_is_read_once() -> None:
    alone, beside = (headroom_of(NEIGHBOURS, text).achievable_us for text in ("torch.roll(x, 1, 0)", ROLLS))
    assert alone < 0.8 * beside
