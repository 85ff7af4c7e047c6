"""KL304 on flat indices: the digits that a kernel takes out of one index are axes, and the moves stay the same."""

from collections import Counter
from itertools import product

import pytest
from support.findings import run_rule

from kernlint.rules.memory.mixed_radix import digits_of, unflattened
from kernlint.workload import Access, Launch, ProgramId, concrete
from kernlint.workload.expr import Lane

FLAT = """
@triton.jit
def moved(x, y, bias, n, C, H, W, SIZE: tl.constexpr):
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    keep = i < n
    {digits}
    v = tl.load(x + i, mask=keep){also}
    tl.store(y + {to}, v, mask=keep)

N, C, H, W = {extents}

class ModelNew(torch.nn.Module):
    def forward(self, x, bias):
        y = torch.empty_like(x)
        moved[(triton.cdiv(x.numel(), {size}),)](x, y, bias, x.numel(), C, H, W, SIZE={size})
        return y

def get_inputs():
    return [torch.randn(N, C, H, W), torch.randn(C)]
"""
PLANES = "image = i // (C * H * W)\n    channel = i // (H * W) % C\n    pixel = i % (H * W)"
ROWS = "pixel = i % (H * W)\n    image = i // (C * H * W)\n    channel = (i // (H * W)) - image * C"
LAST = "(image * H * W + pixel) * C + channel"


def flat(digits: str = PLANES, to: str = LAST, also: str = "", extents: str = "8, 64, 56, 56", size: int = 1024) -> str:
    return FLAT.format(digits=digits, to=to, also=also, extents=extents, size=size)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(flat(), id="to channels last"),
        pytest.param(flat(digits=ROWS), id="digits by subtraction"),
        pytest.param(flat(size=256, extents="8, 64, 32, 32"), id="an image is a multiple of the tile"),
        pytest.param(flat(size=1024, extents="8, 64, 16, 16"), id="the tile is a multiple of an image"),
        pytest.param(flat(also=" + tl.load(bias + channel, mask=keep)"), id="with a bias"),
        pytest.param(flat("w = i % W\n    h = i // W % H\n    p = i // (H * W)", "(p * W + w) * H + h"), id="transposed planes"),
    ],
)  # fmt: skip
def test_a_store_across_rows(source: str) -> None:
    found = run_rule("KL304", source)
    assert found.only().kernel == "moved"
    assert found.promised() > 1.2


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(flat(to="i", also=" + tl.load(bias + channel, mask=keep)"), id="only the bias is found by digits"),
        pytest.param(flat(to="((channel * 8 + image) * H * W) + pixel"), id="outer axes swapped"),
        pytest.param(flat(extents="8, 4, 56, 56"), id="a sector holds all channels"),
        pytest.param(flat(to="tl.load(bias + channel).to(tl.int32) + pixel * C"), id="where to is loaded"),
        pytest.param(flat().replace("def get_inputs", "def unused"), id="open sizes"),
    ],
)  # fmt: skip
def test_stores_that_use_their_sectors(source: str) -> None:
    assert not run_rule("KL304", source)


@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("extents", ["2, 3, 4, 5", "2, 4, 4, 8", "3, 2, 5, 16", "1, 8, 2, 16"])
@pytest.mark.parametrize("digits", [PLANES, ROWS])
def test_every_element_goes_where_it_went(digits: str, extents: str, size: int) -> None:
    (launch,) = run_rule("KL304", flat(digits, extents=extents, size=size)).contexts[0].workload.launches()
    assert digits_of(launch) is not None
    moved = moves(unflattened(launch))
    assert moved == moves(launch)
    assert set(moved.values()) == {1}


def test_a_mask_that_is_no_bound_stays() -> None:
    source = flat(extents="8, 64, 32, 32", size=256).replace("i < n", "tl.load(x + i) > 0")
    (launch,) = run_rule("KL304", source).contexts[0].workload.launches()
    masks = [access.mask for access, _ in launch.kernel.walk(Access)]
    assert () in masks
    assert [access.mask for access, _ in unflattened(launch).kernel.walk(Access)] == masks


def moves(launch: Launch) -> Counter[tuple[float, ...]]:
    """How often each pair of (element read, element written) occurs."""
    load, store = (access for access, _ in launch.kernel.walk(Access))
    atoms = [*map(ProgramId, range(len(launch.grid))), Lane(0)]
    found: Counter[tuple[float, ...]] = Counter()
    for point in product(*(range(concrete(extent)) for extent in launch.grid), range(load.elements)):
        values = dict(zip(atoms, point))
        if all(left.evaluate(values) < right.evaluate(values) for left, right in load.mask or ()):
            found[load.offset.evaluate(values), store.offset.evaluate(values)] += 1
    return found
