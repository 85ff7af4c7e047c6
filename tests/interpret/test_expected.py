"""What tensors of integers hold in the mean, as far as launches are told."""

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Tensor
from kernlint.workload.tensor import Expected

PROGRAM = """
import torch
import triton
import triton.language as tl

N = 100

@triton.jit
def k(x):
    tl.store(x, 0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        k[(1,)]({given})
        return x

def get_inputs():
    lens = torch.randint({drawn})
    ends = torch.zeros(N + 1, dtype=torch.int64)
    ends[1:] = torch.cumsum(lens, 0)
    return [{made}]
"""


def expected(made: str, given: str = "x", drawn: str = "0, 21, (N,)") -> Expected:
    (workload,) = Program(parse_module(PROGRAM.format(made=made, given=given, drawn=drawn), "k.py")).workloads()
    (launch,) = workload.launches()
    found = launch.arguments["x"]
    assert isinstance(found, Tensor)
    return found.storage.expected


@pytest.mark.parametrize(
    "drawn", ["0, 21, (N,)", "21, (N,)", "low=0, high=21, size=(N,)", "0, high=21, size=[N]", "high=21, size=(N,)"]
)
def test_a_draw_is_its_middle_in_the_mean(drawn: str) -> None:
    assert expected("lens", drawn=drawn) == Expected(10.0, spread=10.0)


@pytest.mark.parametrize(
    "made", ["ends", "ends.int()", "ends[5:50]", "lens.cumsum(0)", "torch.cat([torch.zeros(1), lens.cumsum(0)])"]
)
def test_a_running_sum_rises_by_what_it_adds(made: str) -> None:
    assert expected(made) == Expected(step=10.0, spread=10.0)


def test_the_difference_of_neighbours_is_what_was_added() -> None:
    assert expected("ends", "x[1:] - x[:-1]") == Expected(10.0, spread=10.0)
    assert expected("ends", "torch.diff(x)") == Expected(10.0, spread=10.0)
    two = expected("ends", "x[4:] - x[:-4]")
    assert two == Expected(40.0, spread=20.0)  # of four draws some are long where others are short


def test_a_copy_of_every_other_pointer_rises_twice_as_fast() -> None:
    assert expected("ends", "x[::2].contiguous()") == Expected(step=20.0, spread=10.0)


@pytest.mark.parametrize(
    ("made", "mean", "spread"),
    [
        ("lens + 1", 11.0, 10.0), ("1 + lens", 11.0, 10.0), ("lens - 4", 6.0, 10.0), ("torch.sub(lens, 4)", 6.0, 10.0),
        ("40 - lens", 30.0, 10.0), ("lens * 2", 20.0, 20.0), ("-lens", -10.0, 10.0), ("lens // 4", 2.125, 2.5),
        ("-(-lens // 4)", 2.875, 2.5), ("lens.clamp(min=4)", 12.0, 8.0), ("lens.clamp(max=4)", 2.0, 2.0),
        ("lens.clamp(2, 6)", 4.0, 2.0), ("torch.clamp(lens, min=2, max=6)", 4.0, 2.0), ("lens.clamp_min(4)", 12.0, 8.0),
        ("torch.minimum(lens, torch.full((N,), 4))", 2.0, 2.0), ("(lens + 1).int()", 11.0, 10.0),
        ("lens + torch.full((N,), 5)", 15.0, 10.0), ("lens * torch.full((N,), 5)", 50.0, 50.0),
        ("torch.randperm(N)[:1].new_full((N,), 3) + lens", 13.0, 10.0), ("lens[3:7]", 10.0, 10.0), ("lens.flip(0)", 10.0, 10.0),
    ],
)  # fmt: skip
def test_arithmetic_moves_the_middle_and_the_ends(made: str, mean: float, spread: float) -> None:
    found = expected(made)
    assert found.mean == pytest.approx(mean) and found.spread == pytest.approx(spread) and not found.equal


def test_numbers_all_over_leave_each_rest_alike() -> None:
    assert expected("lens % 5") == Expected(2.0, spread=2.0)
    assert expected("torch.arange(N) % 4") == Expected(1.5, spread=1.5)


def test_arithmetic_on_equal_numbers_leaves_them_equal() -> None:
    assert expected("torch.full((N,), 9) // 4") == Expected(2, 0.0, equal=True)
    assert expected("torch.full((N,), 9) * 4 - 1").mean == 35 and expected("torch.full((N,), 9) + 4").equal


@pytest.mark.parametrize(
    "made",
    [
        "lens % 64",
        "lens % lens",
        "(torch.arange(N) * 5) % 5",
        "lens // 0",
        "lens // lens",
        "lens + torch.randn(N)",
        "lens * 0.5",
        "lens.pow(2)",
        "lens + elsewhere",
    ],
)
def test_what_no_law_gives_has_no_mean(made: str) -> None:
    assert expected(made).mean is None


def test_sorted_draws_are_as_far_apart_as_so_many_are() -> None:
    assert expected("lens.sort().values") == Expected(10.0, 0.2, 0.2, ordered=True)
    assert expected("torch.arange(N).flip(0).sort().values").step is None


def test_bins_share_out_what_is_counted() -> None:
    assert expected("torch.bincount(lens, minlength=25)") == Expected(4.0)
    assert expected("torch.bincount(lens, minlength=25).cumsum(0)") == Expected(step=4.0)
    assert expected("torch.bincount(lens)") == Expected()


@pytest.mark.parametrize(
    ("made", "number"),
    [
        ("torch.ones(N, dtype=torch.int32)", 1), ("torch.zeros(N, dtype=torch.int64)", 0), ("torch.full((N,), 7)", 7),
        ("torch.full_like(lens, fill_value=9)", 9), ("lens.new_ones(N)", 1), ("lens.new_full((N,), 3).int()", 3),
        ("torch.ones_like(lens).view(10, 10)[0]", 1), ("torch.tensor([4, 4, 4])", 4),
    ],
)  # fmt: skip
def test_what_is_filled_holds_one_number(made: str, number: int) -> None:
    found = expected(made)
    assert found == Expected(number, 0.0, equal=True, numbers=found.numbers)
    assert found.numbers == ((4, 4, 4) if "[4, 4, 4]" in made else None)  # of few alone, one by one


def test_numbers_that_rise() -> None:
    assert expected("torch.arange(0, 100, 4)") == Expected(step=4, ordered=True)
    assert expected("torch.tensor([0, 100, 150, 300])") == Expected(137.5, 100.0, 50.0, numbers=(0, 100, 150, 300))
    assert expected("torch.tensor([7, 1, 5])") == Expected(13 / 3, -1.0, 3.0, numbers=(7, 1, 5))
    assert expected("torch.ones(N, dtype=torch.int32)", "torch.cumsum(x, 0)") == Expected(step=1.0)


@pytest.mark.parametrize(
    "between",
    [
        "x.add_(1)", "x.fill_(n)", "x[3] = 5", "x.random_(0, 9)", "elsewhere(x)", "k[(1,)](x)", "k[(1,)](x.view(-1))",
        "torch.add(x, 1, out=x)", "x[0:2] = torch.arange(2) if n else x[2:4]",
    ],
)  # fmt: skip
def test_what_was_filled_and_is_written_since_is_not_known(between: str) -> None:
    source = PROGRAM.replace("k[(1,)]", f"n = x.numel()\n        {between}\n        k[(1,)]", 1)
    source = "from elsewhere import elsewhere\n" + source
    text = source.format(made="torch.ones(N, dtype=torch.int32)", given="x", drawn="0, 21, (N,)")
    (workload,) = Program(parse_module(text, "k.py")).workloads()
    found = workload.launches()[-1].arguments["x"]
    assert isinstance(found, Tensor) and not found.storage.expected.equal


def test_parts_of_another_number_leave_a_mean() -> None:
    assert not expected("torch.cat([torch.ones(N, dtype=torch.int32), torch.zeros(N, dtype=torch.int32)])").equal


def test_floats_are_no_counts() -> None:
    assert expected("torch.ones(N)") == Expected()


@pytest.mark.parametrize("made", ["ends.flip(0)", "lens.view(10, 10).cumsum(0)", "torch.randn(N)"])
def test_what_is_not_followed_is_not_known(made: str) -> None:
    assert expected(made) == Expected()


@pytest.mark.parametrize("drawn", ["", "(N,)", "0, some_limit(), (N,)", "0, torch.tensor(3), (N,)", "None, None, (N,)"])
def test_hostile_draws_tell_nothing(drawn: str) -> None:
    assert expected("lens if torch.is_tensor(lens) else torch.ones(N)", drawn=drawn).mean is None


GRID = "torch.meshgrid(torch.arange(N), torch.arange(N), indexing='ij')"


@pytest.mark.parametrize(
    "made",
    [
        "torch.arange(N)", "torch.arange(N).int()", "(torch.arange(N) + 1).contiguous()",
        "torch.arange(N)[:, None] * N + torch.arange(N)[None, :]",
        "torch.stack([torch.arange(N), torch.arange(N) + 1], dim=1).reshape(-1)",
        f"(lambda g: g[0] * N + g[1])({GRID})",
    ],
)  # fmt: skip
def test_what_is_counted_names_neighbours(made: str) -> None:
    assert expected(made).counted


@pytest.mark.parametrize(
    "made",
    [
        "lens", "torch.arange(N) + lens", "torch.arange(N)[torch.randperm(N)]", "torch.arange(N) * 64", "torch.arange(0, 6400, 64)",
        "(torch.arange(N) * 7919) % N", "torch.arange(N * N).view(N, N).t().contiguous()", "torch.randperm(N)",
    ],
)  # fmt: skip
def test_what_is_drawn_or_lies_apart_does_not(made: str) -> None:
    assert not expected(made).counted


@pytest.mark.parametrize(
    ("made", "ordered"),
    [
        ("lens.sort().values", True), ("torch.sort(lens)[0].int()", True), ("torch.arange(N) // 8", True),
        ("torch.repeat_interleave(torch.arange(N), 4)", True),
        ("torch.repeat_interleave(torch.arange(N), lens)", True), ("torch.arange(N)[3:9]", True),
        ("torch.searchsorted(ends, torch.arange(N))", True), ("lens.sort(descending=True).values", True),
        ("lens", False), ("lens.sort().indices", False), ("torch.argsort(lens)", False), ("torch.arange(N) % 8", False),
        ("torch.arange(N)[lens]", False), ("torch.arange(N).flip(0) + lens", False), ("lens.sort().values[lens]", False),
        ("torch.cat([torch.arange(N), torch.arange(N)])", False), ("torch.arange(N).view(10, 10).t().reshape(-1)", False),
        ("lens.view(10, 10).sort().values.view(-1)", False), ("torch.searchsorted(ends, lens)", False),
    ],
)  # fmt: skip
def test_order_is_known_where_a_sort_or_a_count_makes_it(made: str, ordered: bool) -> None:
    assert expected(made).ordered is ordered


@pytest.mark.parametrize(
    "written",
    [
        "x[3] = 0", "x.scatter_add_(0, x, x)", "x.index_add_(0, x, x)", "torch.add(x, x, out=x)", "x[1:].copy_(x[:-1])",
        "torch.cumsum(x, 0, out=x)", "torch.sort(x, out=(x, x))", "x.numpy()[3] = 5", "a = x.numpy(); a[3] = 5",
        "torch._foreach_add_([x], 1)", "torch.ops.mine.write(x)", "torch.ops.mine.clone(x)", "torch.ops.aten.add_.Tensor(x, x)",
        "torch.nn.init.constant_(x, 4)", "torch.distributed.all_reduce(x)", "library.write(x.data_ptr())",
    ],
)  # fmt: skip
def test_what_is_written_to_is_no_longer_equal(written: str) -> None:
    text = PROGRAM.replace(
        "    return [{made}]", f"    x = torch.ones(N, dtype=torch.int64)\n    {written}\n    return [x]"
    )
    (workload,) = Program(parse_module(text.format(given="x", drawn="9, (N,)"), "k.py")).workloads()
    found = workload.launches()[0].arguments["x"]
    assert isinstance(found, Tensor) and not found.storage.expected.equal


@pytest.mark.parametrize(
    "read", ["torch.cumsum(x, 0)", "x.cpu()", "torch.ops.aten.add.Tensor(x, x)", "x.tolist()", "print(x.shape)"]
)
def test_what_is_only_read_stays_known(read: str) -> None:
    text = PROGRAM.replace("        k[(1,)]", f"        {read}\n        k[(1,)]")
    made = text.format(made="torch.ones(N, dtype=torch.int64)", given="x", drawn="9, (N,)")
    (workload,) = Program(parse_module(made, "k.py")).workloads()
    found = workload.launches()[0].arguments["x"]
    assert isinstance(found, Tensor) and found.storage.expected.equal


def test_order_is_lost_where_elements_are_written() -> None:
    text = PROGRAM.replace("    return [{made}]", "    x = torch.arange(N)\n    x[3] = 0\n    return [x]")
    (workload,) = Program(parse_module(text.format(given="x", drawn="9, (N,)"), "k.py")).workloads()
    found = workload.launches()[0].arguments["x"]
    assert isinstance(found, Tensor) and not found.storage.expected.ordered
