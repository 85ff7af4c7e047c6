"""What a call could take: groups, witnesses, bound and causes, on small programs whose answers can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernlint.analysis import analysis, read_program
from kernlint.cost.device import find_device
from kernlint.headroom.bound import bound_of
from kernlint.headroom.graph import graph_of
from kernlint.headroom.groups import Group, groups_of
from kernlint.headroom.headroom import Headroom
from kernlint.headroom.streams import streams
from kernlint.headroom.witness import price, witness_of
from kernlint.records import replace
from kernlint.request import Request
from kernlint.verdict.judge import _torch_time
from kernlint.workload import Launch, TorchOp, Workload

H100 = find_device("h100-sxm")
PAIRS = Path(__file__).parents[2] / "fixtures" / "pairs"

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x, b=None, c=None):
        y = torch.empty_like(x)
        twice[(triton.cdiv(x.numel(), {block}),)](x, y, x.numel(), BLOCK={block})
        return y
"""


def reference(body: str, *inputs: str, block: int = 1024) -> Headroom:
    """The headroom of a kernel that stands for the reference ``body``, of the arguments a, b, c."""
    names = ", ".join("abc"[: len(inputs)])
    source = f"""
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, {names}):
        {body}

def get_inputs():
    return [{", ".join(inputs)}]
"""
    found = analysis(Request(KERNEL.format(block=block), reference=source, device="h100-sxm")).judgement.headroom
    assert found is not None
    return found


def workload_of(body: str, *inputs: str) -> Workload:
    """What the reference ``body`` of the arguments a, b, c does."""
    names = ", ".join("abc"[: len(inputs)])
    source = f"""
import torch

class Model(torch.nn.Module):
    def forward(self, {names}):
        {body}

def get_inputs():
    return [{", ".join(inputs)}]
"""
    found = read_program(Request(KERNEL.format(block=1024), reference=source)).workloads[0].reference
    assert found is not None
    return found


def names(found: Headroom) -> list[list[str]]:
    return [[node.name for node in witness.group.nodes] for witness in found.witnesses]


BIG = "torch.rand(4096, 4096)"


@pytest.mark.parametrize(
    ("body", "inputs", "groups"),
    [
        ("return torch.relu(a * b) + c", (BIG, BIG, BIG), 1),
        ("return F.layer_norm(a, (4096,)) * b", (BIG, BIG), 1),
        ("return F.softmax(a / 2, dim=-1)", (BIG,), 1),
        ("return a / a.sum()", (BIG,), 2),
        ("return a - a.mean(dim=0)", (BIG,), 2),
        ("return F.gelu(a @ b + c)", (BIG, BIG, "torch.rand(4096)"), 1),
        ("return F.softmax(a @ b, dim=-1)", (BIG, BIG), 2),
        ("return (a @ b) @ c", (BIG, BIG, BIG), 2),
        ("return torch.exp(a) @ b", (BIG, BIG), 2),
    ],
)
def test_groups_end_where_a_program_cannot_hold_what_comes_next(
    body: str, inputs: tuple[str, ...], groups: int
) -> None:
    assert len(asked(body, *inputs)) == groups


def asked(body: str, *inputs: str) -> list[Group]:
    """The fusion groups of the reference ``body``."""
    arguments = ", ".join("abc"[: len(inputs)])
    source = f"""
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, {arguments}):
        {body}

def get_inputs():
    return [{", ".join(inputs)}]
"""
    judged = analysis(Request(KERNEL.format(block=1024), reference=source)).judgement
    assert judged.workload.reference is not None
    return groups_of(graph_of(judged.workload.reference))


def test_attention_is_one_group() -> None:
    q = "torch.rand(8, 512, 64, dtype=torch.float16)"
    body = "return F.softmax(a @ b.transpose(-1, -2), dim=-1) @ c"
    (group,) = asked(body, q, q, q)
    assert [node.name for node in group.nodes] == ["matmul", "softmax", "matmul"]


ROWS_OF = ("torch.rand(65536, 64)", "torch.arange(65536)", "torch.randint(0, 65536, (1048576,))")


@pytest.mark.parametrize(
    ("index", "summed"),
    [
        ("torch.repeat_interleave(torch.arange(65536, device=a.device), 16)", True),
        ("torch.searchsorted(b, torch.arange(1048576, device=a.device))", True),
        ("c", False),
        ("torch.repeat_interleave(torch.arange(65536, device=a.device), 16).flip(0)", False),
        ("torch.arange(65536, device=a.device).repeat(16)", False),
    ],
)
def test_sums_over_runs_of_one_index_are_one_kernel(index: str, summed: bool) -> None:
    """Rows that go to one place lie together where the index grows: each program sums up its own, and nothing meets in memory."""
    made = groups_of(graph_of(workload_of(f"return torch.zeros_like(a).index_add_(0, {index}, a[c])", *ROWS_OF)))
    together = [group for group in made if {"index", "index_add_"} <= {node.name for node in group.nodes}]
    assert len(together) == summed
    for group in together:
        least = min(sum(price((step,), H100)[0] for step in steps) for steps, _ in streams(group, H100))
        assert least > 1048576 * 64 * 4 / 8e6  # what is picked passes through L2, each time anew


def test_rows_that_two_calls_pick_from_one_table_count_for_both() -> None:
    """In whichever order they are picked: the sixteen neighbours of a row and the row itself."""
    body = "return torch.cat([a[c], a[b].float().mean(1).to(a.dtype)], 1)"
    first = "torch.rand(500000, 256, dtype=torch.float16)"
    inputs = (first, "torch.randint(0, 500000, (65536, 16))", "torch.randint(0, 500000, (65536,))")
    for text in (body, "return torch.cat([a[b].float().mean(1).to(a.dtype), a[c]], 1)"):
        groups = groups_of(graph_of(workload_of(text, *inputs)))
        (group,) = [group for group in groups if any(node.name == "index" for node in group.nodes)]
        least = min(sum(price((step,), H100)[0] for step in steps) for steps, _ in streams(group, H100))
        assert least > 65536 * 17 * 512 * 0.7 / 3.35e6


def least_us(body: str, *inputs: str) -> float:
    """Microseconds of well-written launches for what the reference ``body`` does."""
    graph = graph_of(workload_of(body, *inputs))
    return sum(witness_of(graph, group, H100, True).us for group in groups_of(graph))


def test_a_tensor_that_one_call_picks_from_is_read_whole_by_another_one() -> None:
    logits, targets = "torch.randn(4096, 32000)", "torch.randint(0, 32000, (4096, 1))"
    whole = least_us("return torch.logsumexp(a, -1)", logits)
    for body in ("a.gather(-1, b).squeeze(-1) - a.logsumexp(-1)", "a.logsumexp(-1) - a.gather(-1, b).squeeze(-1)"):
        assert whole < least_us(f"return {body}", logits, targets) < 1.2 * whole


@pytest.mark.parametrize("loops", [(32,), (2, 16)])
def test_all_rounds_of_attention_are_counted(loops: tuple[int, ...]) -> None:
    heads = "torch.randn(32, 8192, 128, dtype=torch.float16)"
    lines = [f"{' ' * 4 * i}for {'ij'[i]} in range({count}):" for i, count in enumerate(loops)]
    lines += [f"{' ' * 4 * len(loops)}y[0] = (a[0] @ b[0].T).softmax(-1) @ c[0]"]
    body = "\n        ".join(["y = torch.empty_like(a)", *lines, "return y"])
    once = least_us("return (a[0] @ b[0].T).softmax(-1) @ c[0]", heads, heads, heads)
    assert least_us(body, heads, heads, heads) > 16 * once


def test_products_that_a_mask_puts_out_bound_nothing() -> None:
    operands = ["torch.randn(8192, 128)", "torch.randn(8192, 128)"]

    def bound(body: str) -> float:
        return bound_of(graph_of(workload_of(body, *operands)), H100).operations_us

    plain = bound("return (a @ b.T).sum(-1)")
    assert bound("return ((a @ b.T) * 2).tril().sum(-1)") < plain / 2
    assert bound("return (a @ b.T).tril(), a @ b.T") > plain / 2, "another product is whole"


def test_a_table_may_have_fewer_elements_than_there_are_indices() -> None:
    """What is picked by more indices than that is no less a row of the table, and the indices are read one after the other."""
    inputs = "torch.rand(1000, 32)", "torch.randint(0, 1000, (1000000,))"
    (group,) = groups_of(graph_of(workload_of("return a[b].sum(-1)", *inputs)))
    least = min(sum(price((step,), H100)[0] for step in steps) for steps, _ in streams(group, H100))
    assert least < 3 * 1000000 * (32 * 4 + 8) / 5e6, "rows of 128 bytes from L2"


@pytest.mark.parametrize("taps", [1, 3, 5])
def test_each_element_of_a_window_is_looked_at(taps: int) -> None:
    (group,) = groups_of(
        graph_of(workload_of(f"return torch.nn.functional.avg_pool2d(a, {taps}, 1)", "torch.rand(8, 16, 512, 512)"))
    )
    (first, *_), _ = next(iter(streams(group, H100)))
    assert isinstance(first, Launch) and len(first.kernel.loads()) == taps * taps


def test_the_distance_of_two_points_takes_a_step_for_each_coordinate() -> None:
    def least(coordinates: int) -> float:
        (group,) = groups_of(
            graph_of(workload_of("return torch.cdist(a, b)", *[f"torch.rand(4096, {coordinates})"] * 2))
        )
        return min(sum(price((step,), H100)[0] for step in steps) for steps, _ in streams(group, H100))

    assert least(64) > 2 * least(2)


def test_what_stands_behind_a_product_costs_a_step_for_each_element_of_a_tile() -> None:
    inputs = ("torch.rand(512, 512, dtype=torch.float16)",) * 2
    product = reference("return a @ b", *inputs).achievable_us
    assert reference("return ((a @ b) * 2 + 1).abs()", *inputs).achievable_us < 1.2 * product


ROUNDS = "s = torch.zeros_like(a[0])\n        for t in range(512):\n            {}\n        return s"


def test_rounds_wait_for_what_is_handed_on_alone() -> None:
    """What a round computes of its own is done while the one before is at work; a longer chain of what is handed on is not."""

    def us(body: str) -> float:
        graph = graph_of(workload_of(ROUNDS.format(body), "torch.rand(512, 2048)"))
        (group,) = [group for group in groups_of(graph) if max(node.serial for node in group.nodes) > 1]
        return witness_of(graph, group, H100, True).us

    short, beside = us("s = s * 0.5 + a[t]"), us("s = s * 0.5 + ((a[t] + 1) * 2 - 1).abs().sqrt()")
    longer = us("s = ((s * 0.5 + 1) * 2 - 1).abs().sqrt() + a[t]")
    assert beside == pytest.approx(short, rel=0.2) and longer > 1.5 * short


@pytest.mark.parametrize(
    ("index", "run"),
    [
        ("a[b]", 8 * 4), ("a[b, c]", 4), ("a[b, c, c]", None), ("a[:, b]", None), ("a[b, :, c]", None),
        ("a[b, [0, 1]]", None), ("a.transpose(1, 2)[b, c]", None),
    ],
)  # fmt: skip
def test_what_an_index_picks_lies_side_by_side(index: str, run: int | None) -> None:
    """Where the first axes are indexed, as many as there are, and others are left."""
    indices = "torch.randint(0, 4, (2,))"
    graph = graph_of(workload_of(f"return {index} * 2", "torch.rand(16, 8, 4)", indices, indices))
    (step,) = [node.step for node in graph.nodes if node.name == "index"]
    assert isinstance(step, TorchOp)
    assert step.dims.get("run") == run


def test_a_stream_takes_its_bytes_over_the_bandwidth() -> None:
    found = reference("return a * 2", BIG)
    moved = 2 * 4096 * 4096 * 4
    assert found.achievable_us == pytest.approx(moved / (H100.memory_bandwidth_gb_per_s * 1e3), rel=0.3)
    assert found.bound.us <= found.achievable_us
    assert found.ratio < 1.2


def test_small_blocks_are_the_cause_of_a_slow_stream() -> None:
    found = reference("return a * 2", BIG, block=16)
    assert found.ratio > 5
    assert found.causes[0].name == "many programs"
    assert found.causes[0].category == "tiling"


@pytest.mark.parametrize("pair", ["elementwise-ok", "softmax-three-kernels", "gemm-small-tile", "contiguous-copies"])
def test_causes_add_up_to_no_more_than_the_gap(pair: str) -> None:
    found = of_pair(pair)
    gap = found.now_us - found.achievable_us
    assert sum(cause.us for cause in found.causes) <= gap + 1e-6
    assert all(0 <= cause.us <= cause.alone_us + 1e-9 for cause in found.causes)


@pytest.mark.parametrize(
    ("pair", "category"),
    [
        ("elementwise-tiny-block", "tiling"),
        ("softmax-three-kernels", "fusion"),
        ("contiguous-copies", "memory"),
        ("fuse-elementwise-chain", "fusion"),
        ("loop-launch-per-batch", "launch"),
        ("cumsum-sequential", "algorithm"),
        ("rowsum-column-stride", "memory"),
    ],
)
def test_the_largest_cause_is_right_without_any_rule(pair: str, category: str) -> None:
    assert of_pair(pair).causes[0].category == category


@pytest.mark.parametrize("pair", ["elementwise-ok", "softmax-ok", "gemv-ok", "flash-ok"])
def test_nothing_is_proposed_where_nothing_is_to_be_gained(pair: str) -> None:
    found = of_pair(pair)
    assert found.ratio < 1.3


def of_pair(pair: str) -> Headroom:
    folder = PAIRS / pair
    size = json.loads((folder / "measured.json").read_text())["sizes"][1]
    before, text = (folder / "before.py").read_text(), (folder / "reference.py").read_text()
    found = analysis(Request(before, path="before.py", reference=text, overrides=size["set"])).judgement.headroom
    assert found is not None
    return found


@pytest.mark.parametrize(
    "pair", sorted(path.name for path in PAIRS.iterdir() if (path / "measured.json").exists())[::7]
)
def test_no_measured_time_is_below_the_bound(pair: str) -> None:
    assert_bounded(pair)


@pytest.mark.accuracy
@pytest.mark.parametrize("pair", sorted(path.name for path in PAIRS.iterdir() if (path / "measured.json").exists()))
def test_no_measured_time_of_any_pair_is_below_the_bound(pair: str) -> None:
    assert_bounded(pair)


def assert_bounded(pair: str) -> None:
    folder = PAIRS / pair
    before, text = (folder / "before.py").read_text(), (folder / "reference.py").read_text()
    for size in json.loads((folder / "measured.json").read_text())["sizes"]:
        measured = [(size.get(side) or {}).get("gpu_us") for side in ("before", "after")]
        times = [us for us in measured if us is not None]
        found = analysis(Request(before, path="before.py", reference=text, overrides=size["set"])).judgement.headroom
        if times and found is not None:
            assert found.bound.us <= 1.005 * min(times), (pair, size["name"])


def test_fp64_work_bounds_by_its_own_unit() -> None:
    narrow, wide = (
        bound_of(graph_of(workload(f"torch.rand(1 << 24, dtype=torch.{dtype})")), H100).operations_us
        for dtype in ("float32", "float64")
    )
    assert wide > narrow


def workload(made: str) -> Workload:
    source = f"""
import torch

class Model(torch.nn.Module):
    def forward(self, a):
        return torch.exp(a)

def get_inputs():
    return [{made}]
"""
    found = analysis(Request(KERNEL.format(block=1024), reference=source)).judgement.workload.reference
    assert found is not None
    return found


def test_open_sizes_have_the_headroom_of_a_plausible_call() -> None:
    source = KERNEL.format(block=1024)
    judged = analysis(Request(source.split("class ModelNew")[0] + "def run(x):\n    y = torch.empty_like(x)\n"
                      "    twice[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)\n    return y\n"))  # fmt: skip
    assert judged.verdict.details.certainty == "assumed"
    assert judged.verdict.details.scenarios
    assert judged.judgement.headroom is not None
    assert judged.judgement.headroom.bound.us <= judged.judgement.headroom.now_us


def test_a_reference_of_results_of_unknown_size_tells_no_time() -> None:
    known = workload_of("return a + 1", "torch.rand(4096, 1024)")
    unknown = replace(known, outputs=tuple(replace(tensor, shape=None) for tensor in known.outputs))
    assert _torch_time(known, H100).gpu_us is not None and _torch_time(unknown, H100).gpu_us is None
