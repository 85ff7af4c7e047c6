"""The numbers in small tensors of integers, which grids rest on, are known where the program spells them out, and only there."""

import textwrap
from pathlib import Path

import pytest

from kernlint.analysis import analysis
from kernlint.interpret.program import Program
from kernlint.request import Request
from kernlint.syntax.tree import parse_module
from kernlint.workload import Expr, Opaque, concrete
from kernlint.workload.ranges import never_negative

HEAD = """
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from elsewhere import change

@triton.jit
def k(x):
    tl.store(x, 0)
"""


def grid(body: str) -> int | None:
    """The first extent of the last launch of a function that takes ``x`` and does ``body``."""
    source = HEAD + "def f(x: torch.Tensor):\n    lens = torch.tensor([70, 96], device='cuda')\n"
    module = parse_module(source + textwrap.indent(textwrap.dedent(body), "    "), "k.py")
    (workload,) = Program(module).workloads()
    return concrete(workload.first_call().launches()[-1].grid[0])


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("lens.max().item()", 96),
        ("int(lens.min())", 70),
        ("torch.sum(lens).item()", 166),
        ("sum(lens.tolist())", 166),
        ("lens.shape[0]", 2),
        ("lens[1].item()", 96),
        ("((lens + 31) // 32).sum().item()", 6),
        ("(100 - lens).max().item()", 30),
        ("lens.cumsum(0)[-1].item()", 166),
        ("F.pad(lens.cumsum(0), (1, 0))[0].item() + 5", 5),
        ("F.pad(lens.cumsum(0, dtype=torch.int32), (1, 0)).diff().max().item()", 96),
        ("torch.cat([lens, lens]).sum().item()", 332),
        ("lens.to(torch.int32).cpu().clone().max().item()", 96),
        ("torch.full((3,), 7, device='cuda').sum().item()", 21),
        ("torch.tensor([[1, 2], [3, 4]], device='cuda').shape[1]", 2),
    ],
)
def test_what_is_spelt_out_is_known(number, expected):
    assert grid(f"k[({number},)](x)") == expected


@pytest.mark.parametrize(
    "body",
    [
        "k[(torch.randint(1, 9, (2,), device='cuda').max().item(),)](x)",
        "lens.add_(1)\nk[(lens.max().item(),)](x)",
        "lens += 1\nk[(lens.max().item(),)](x)",
        "lens[0] = x.shape[0]\nk[(lens.max().item(),)](x)",
        "lens[:1].copy_(lens[1:])\nk[(lens.min().item(),)](x)",
        "k[(1,)](lens)\nk[(lens.max().item(),)](x)",
        "change(lens)\nk[(lens.max().item(),)](x)",
        "ends = torch.zeros(2, dtype=torch.int64, device='cuda')\ntorch.cumsum(lens, 0, out=ends)\nk[(ends.max().item(),)](x)",
        "if x.sum() > 0:\n    lens = torch.tensor([3, 4], device='cuda')\nk[(lens.max().item(),)](x)",
        "if x.sum() > 0:\n    lens.mul_(2)\nk[(lens.max().item(),)](x)",
        "for _ in range(x.shape[0]):\n    lens = lens * 2\n    k[(lens.max().item(),)](x)",
        "while x.sum() > 0:\n    lens = lens * 2\n    k[(1,)](x)\nk[(lens.max().item(),)](x)",
        "k[(lens.to(torch.int8).mul(2).max().item(),)](x)",
        "k[(torch.add(lens, lens, alpha=2).max().item(),)](x)",
        "k[((lens // 0).max().item(),)](x)",
        "k[(torch.zeros(1000, dtype=torch.int64, device='cuda').add(1).max().item(),)](x)",
        "k[(int((lens * 0.5).max().item()),)](x)",
        "k[(lens[lens > 80].max().item(),)](x)",
        "lens[torch.tensor([1], device='cuda')] = 5\nk[(lens.max().item(),)](x)",
        "lens.data = torch.tensor([1, 2], device='cuda')\nk[(lens.max().item(),)](x)",
        "setattr(lens, 'data', torch.tensor([1, 2], device='cuda'))\nk[(lens.max().item(),)](x)",
        "lens.real.zero_()\nk[(lens.max().item() + 1,)](x)",
        "k[(torch.max(lens.min(), lens.max()).item(),)](x)",
        "k[(torch.min(lens.max(), torch.tensor([5], device='cuda').max()).item(),)](x)",
        "k[(lens.view(torch.int32)[1].item() + 1,)](x)",
    ],
)
def test_what_may_be_another_number_is_not_known(body):
    assert grid(body) is None


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("lens = torch.tensor([70, 96])\n    lens.cpu()[0] = 300", "lens"),
        ("lens = torch.tensor([70, 96])\n    rows = lens.to('cpu')\n    rows.mul_(3)\n    lens = lens.cuda()", "lens"),
        ("lens = None", "self.loaded"),
        ("lens = None", "self.given"),
    ],
)
def test_what_was_made_before_the_call_may_have_been_written_since(made: str, read: str) -> None:
    source = HEAD + (
        "class ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('loaded', torch.tensor([70, 96], device='cuda'))\n"
        "        self.given = torch.nn.Buffer(torch.tensor([70, 96], device='cuda'))\n"
        f"    def forward(self, x, lens):\n        k[({read}.max().item(),)](x)\n"
        f"def get_inputs():\n    {made}\n    return [torch.rand(9, device='cuda'), lens]\n"
    )
    (workload,) = Program(parse_module(source, "k.py")).workloads()
    assert concrete(workload.first_call().launches()[-1].grid[0]) is None


CALLED = """
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

def packed(x, ends):
    longest = (ends[1:] - ends[:-1]).max().item()
    y = torch.empty_like(x)
    copy[(triton.cdiv(longest, 128), ends.numel() - 1)](x, y, x.numel(), 128)
    return y
"""


def test_a_call_tells_the_numbers_of_what_it_gives(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("")
    module, test = tmp_path / "packing.py", tmp_path / "test_packing.py"
    module.write_text(HEAD + CALLED)
    test.write_text(
        "import torch\nfrom packing import packed\ndef test_packed():\n"
        "    packed(torch.randn(1 << 21, device='cuda'), torch.tensor([0, 1000, 1 << 21], dtype=torch.int32, device='cuda'))"
    )
    found = analysis(Request(module.read_text(), path=str(module), project=True))
    (launch,) = found.judgement.workload.first_call().launches()
    assert tuple(map(concrete, launch.grid)) == (-(-((1 << 21) - 1000) // 128), 2)


def test_what_a_tuner_settled_on_is_the_configuration_that_is_asked_about():
    source = HEAD + textwrap.dedent(
        """
        @triton.autotune([triton.Config({"B": 64}), triton.Config({"B": 256}, num_warps=8)], key=[])
        @triton.jit
        def tuned(x, B: tl.constexpr):
            tl.store(x + tl.arange(0, B), 0)

        def f(x: torch.Tensor):
            tuned[(1,)](x)
            best = tuned.best_config
            k[(best.kwargs["B"],)](x, num_warps=best.num_warps)
        """
    )
    (workload,) = Program(parse_module(source, "k.py")).workloads()
    launch = workload.first_call().launches()[-1]
    assert (launch.grid[0], launch.num_warps) == (64, 4)
    assert any("the first of its configurations" in text for text in workload.assumptions)
    open_ended = source.replace(
        '[triton.Config({"B": 64}), triton.Config({"B": 256}, num_warps=8)]', "x.configurations()"
    )
    (workload,) = Program(parse_module(open_ended, "k.py")).workloads()
    assert concrete(workload.first_call().launches()[-1].grid[0]) is None


DRAWN = (
    HEAD
    + """
class ModelNew(torch.nn.Module):
    def forward(self, x, ends):
        k[(x.shape[0],)](x)
        return x

def get_inputs():
    lengths = torch.randint(0, 21, (100,))
    ends = torch.zeros(101, dtype=torch.int32)
    ends[1:] = lengths.cumsum(0)
    return [torch.randn({rows}, 64).half() + 0.1, ends]
"""
)


def drawn(rows: str) -> tuple[int | None, ...] | None:
    """The extents of ``x``, of so many ``rows``, and what is said of them."""
    (workload,) = Program(parse_module(DRAWN.replace("{rows}", rows), "k.py")).workloads()
    shape = workload.inputs[0].shape
    assert any("taken to draw 1001" in text for text in workload.assumptions) == (shape is not None)
    return None if shape is None else tuple(map(concrete, shape))


@pytest.mark.parametrize("rows", ["int(ends[-1])", "ends[-1].item()", "int(ends[100])"])
def test_inputs_are_as_large_as_what_they_draw_adds_up_to(rows: str) -> None:
    assert drawn(rows) == (1001, 64)  # not 1000: what is drawn is no multiple of a block, but by chance


@pytest.mark.parametrize(
    "rows",
    [
        "len(torch.repeat_interleave(torch.arange(100), lengths))",
        "torch.arange(100).repeat_interleave(lengths).numel()",
    ],
)
def test_repeats_that_are_drawn_add_up_to_what_their_running_sum_ends_with(rows: str) -> None:
    assert drawn(rows) == (1001, 64)


def test_a_number_that_is_read_bounds_nothing() -> None:
    read = Expr.atom(Opaque("load", (), 7))
    assert not never_negative(read - 1) and not never_negative(1 - read)


def test_repeats_of_which_nothing_is_known_are_open() -> None:
    rows = "len(torch.repeat_interleave(torch.arange(100), torch.randn(100).abs().long()))"
    (workload,) = Program(parse_module(DRAWN.replace("{rows}", rows), "k.py")).workloads()
    shape = workload.inputs[0].shape
    assert shape is None or concrete(shape[0]) is None


@pytest.mark.parametrize(
    "rows",
    [
        "int(lengths.max())",
        "int(ends.long()[-1])",
        "int(lengths.cumsum(0)[-1])",  # whether this begins with a zero is not told
        "int((ends * 0.5)[-1])",
        "int(ends[0])",
        "ends[-2:].tolist()[0]",
        "int(torch.randn(1))",
    ],
)
def test_what_else_is_read_of_drawn_inputs_is_open(rows: str) -> None:
    assert drawn(rows) is None


def test_a_call_itself_reads_no_likely_numbers() -> None:
    body = """
        ends = torch.zeros(9, dtype=torch.int64, device='cuda')
        ends[1:] = torch.randint(1, 9, (8,), device='cuda').cumsum(0)
        k[(int(ends[-1]),)](x)
    """
    assert grid(body) is None
