"""Well-written launches for a group of work, as data that the cost model prices: the proof that a time can be reached.

Each canonical form is a small family of launches (block sizes, warps, splits), of which the fastest counts. Their accesses are
coalesced and touch each byte once; what they compute is what the group's nodes compute. They say what a good version looks
like, not how its source reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kernlint.cost.device import Device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.programs.constants import constants, launch_floor_us
from kernlint.cost.retiled import Retiled
from kernlint.cost.torch_ops import torch_op_time
from kernlint.headroom import kernels
from kernlint.headroom.graph import COLUMN, KERNEL, LIBRARY, PRODUCT, ROW, TOTAL, Graph, product_extents
from kernlint.headroom.groups import Group
from kernlint.headroom.products import products
from kernlint.headroom.serial import chunks_us, is_stepwise
from kernlint.headroom.streams import Version, kernel_streams, streams
from kernlint.records import dataclass, replace
from kernlint.workload import Kernel, Launch, Span, TorchOp, concrete
from kernlint.workload import Node as KernelNode

#: Torch calls of a group up to which they are priced as they are.
_MOST_CALLS = 64
#: What a serial step costs a program that holds its state in registers, and each level of a reduction on the way, of which a row of
#: 1,024 elements has ten (``scan_strip`` and ``balance`` of ``h200-walks.csv``).
_STEP_US, _LEVEL_US = 0.025, 0.03
#: A serial step that all programs must see: a write to L2, a barrier over the grid, a read.
_GRID_STEP_US = 1.6


@dataclass(frozen=True)
class Witness:
    """``steps`` that do the work of ``group``, with their predicted device time; ``form`` says in a word what they are."""

    group: Group
    steps: tuple[Launch | TorchOp, ...]
    us: float
    sigma: float
    form: str


def price(steps: Sequence[Launch | TorchOp], device: Device) -> tuple[float, float]:
    """(microseconds, sigma) of ``steps`` one after another, each once and replayed alone."""
    times = [kernel_time(s, device) if isinstance(s, Launch) else torch_op_time(s, device) for s in steps]
    total = sum(t.us for t in times)
    sigma = math.sqrt(sum((t.sigma * t.us) ** 2 for t in times)) / total if total else 0.0
    return total, sigma


def witness_of(graph: Graph, group: Group, device: Device, precise: bool) -> Witness:
    """The fastest canonical version of ``group``. ``precise`` keeps fp32 products at fp32 precision."""
    candidates = [(tuple(map(_as_met, steps)), form) for steps, form in _candidates(graph, group, device, precise)]
    priced = [(*price(steps, device), steps, form) for steps, form in _promising(candidates, group, device)]
    count = max(node.count for node in group.nodes)
    own = price(tuple(node.step for node in group.nodes), device) if len(group.nodes) <= _MOST_CALLS else None
    if own is not None:
        steps = tuple(node.step for node in group.nodes)
        priced.append((own[0] * count, own[1], steps, "as it is"))
        if group.form == KERNEL and count > 1 and isinstance(steps[0], Launch) and steps[0].grid:
            together = (kernels.as_one(steps[0], count),)
            us, sigma = price(together, device)
            priced.append((max(us, _moving_us(group, device)), sigma, together, "as it is, all rounds in one launch"))
    us, sigma, steps, form = min(priced, key=lambda one: one[0])
    us = max(us, _window_us(group, device))
    if group.form == KERNEL:
        us = min(us, _trimmed_us(group, device, count, streamed=bool(candidates)))
        if own is not None and isinstance(steps[0], Launch):
            us = max(us, min(own[0], *(chunks_us(n.step) for n in group.nodes if isinstance(n.step, Launch))) * count)
    serial = max(node.serial for node in group.nodes)
    if serial > 1:
        us, form = _rounds(graph, group, us, serial, form)
    elif group.form not in (LIBRARY, KERNEL):
        us = math.hypot(us, _depth(group) * _STEP_US)
    return Witness(group, steps, us, sigma, form)


#: How much longer than the best a tile may take by what is foreseen and be priced all the same.
_FORESEEN = 1.1


def _promising(candidates: list[Version], group: Group, device: Device) -> list[Version]:
    """Those of ``candidates`` that may be the fastest: what a product takes with another tile is foreseen from the price with one."""
    if group.form != PRODUCT or len(group.products) != 1:
        return candidates
    step = group.products[0].step
    assert isinstance(step, TorchOp)
    extents = product_extents(step)
    assert extents is not None
    _, m, n, _ = extents
    splits: dict[object, list[Version]] = {}
    for number, version in enumerate(candidates):
        first = version[0][0]
        tiled = isinstance(first, Launch) and bool(first.kernel.dots())
        splits.setdefault(first.grid[1:] if tiled else number, []).append(version)  # type: ignore[union-attr]
    foreseen: list[tuple[float, Version]] = []
    for versions in splits.values():
        launch, *behind = versions[len(versions) // 2][0]
        loop = dot_loop(launch) if len(versions) > 1 and isinstance(launch, Launch) else None
        if loop is None:
            foreseen += ((0.0, version) for version in versions)
            continue
        assert isinstance(launch, Launch)
        products = math.prod(concrete(extent) or 1 for extent in launch.grid[1:])
        retiled = Retiled(launch, loop, (m, n, products), launch.kernel.dots()[0], device)
        others = price(behind, device)[0]
        for version in versions:
            first = version[0][0]
            assert isinstance(first, Launch)
            (dot,) = first.kernel.dots()
            us = retiled.us(dot.m, dot.n, dot.k, first.num_warps, first.num_stages)
            foreseen.append((us + others, version))
    least = min((us for us, _ in foreseen if us), default=0.0)
    return [version for us, version in foreseen if us <= _FORESEEN * least]


def _as_met(step: Launch | TorchOp) -> Launch | TorchOp:
    """``step`` with the kernel of one like it, whose price may be known: many programs are held against one reference."""
    if not isinstance(step, Launch):
        return step
    kernel = step.kernel
    return replace(step, kernel=_kernel_met(kernel.name, kernel.body, kernel.span, kernel.dims, step.shapes))


@lru_cache(maxsize=1024)
def _kernel_met(name: str, body: tuple[KernelNode, ...], span: Span, dims: int, shapes: object) -> Kernel:
    # Of tensors of these shapes alone, so that what it knows of its launches does not grow.
    return Kernel(name, body, span, span, span.file, dims=dims)


def _trimmed_us(group: Group, device: Device, count: float, streamed: bool) -> float:
    """The kernel of a product as it is, but without blocks that are masked, tiles that spill and SMs that have nothing to do; one that
    goes step by step, with whole lines and the best of warps; one that is no stream, as the data say where it reads, with as much for
    each program to do as fills it, and no lanes that are masked."""
    (node,) = group.nodes
    assert isinstance(node.step, Launch)
    wasted: tuple[str, ...]
    if node.step.kernel.dots():
        wasted = (kernels.IDLE, kernels.FEW)
    elif is_stepwise(node.step):
        wasted = (kernels.SECTORS, kernels.IDLE, kernels.EXCHANGE)
    elif not streamed:
        wasted = (kernels.MANY,)
    else:
        return math.inf
    return count * kernels.Counterfactuals(node.step, device).us(*wasted)


def _window_us(group: Group, device: Device) -> float:
    """The least for a convolution over windows: cuDNN's own time. Its operand is gathered, which the tiled product does not say."""
    for node in group.products:
        step = node.step
        if (
            isinstance(step, TorchOp)
            and step.kind == "conv"
            and any(concrete(e) != 1 for e in (step.reads[1].shape or ())[2:])
        ):
            return torch_op_time(step, device).us
    return 0.0


#: Groups of one kind from which on they are taken for the rounds of a loop over tensors.
_MANY = 3


def side_by_side(witnesses: Sequence[Witness], device: Device) -> list[Witness]:
    """``witnesses`` with those of one kind, none of which needs what another makes, as one launch over all their tensors."""
    kinds: dict[object, list[int]] = {}
    for index, witness in enumerate(witnesses):
        if witness.group.form not in (PRODUCT, LIBRARY) and all(node.serial <= 1 for node in witness.group.nodes):
            kinds.setdefault(tuple(node.name for node in witness.group.nodes), []).append(index)
    merged = list(witnesses)
    for members in kinds.values():
        made = {use.value for index in members for use in witnesses[index].group.writes}
        apart = not any(use.value in made for index in members for use in witnesses[index].group.reads)
        if len(members) >= _MANY and apart:
            us = _together([witnesses[index] for index in members], device)
            share = us / sum(witnesses[index].us for index in members)
            for index in members:
                form = f"one launch over {len(members)} groups of tensors"
                merged[index] = replace(witnesses[index], us=witnesses[index].us * min(1.0, share), form=form)
    return merged


def _together(witnesses: Sequence[Witness], device: Device) -> float:
    """Microseconds of one launch that does the work of all: their bytes at the rate of the memory that holds them."""
    floor = launch_floor_us()
    total = sum(use.bytes for witness in witnesses for use in (*witness.group.reads, *witness.group.writes))
    return float(floor + max(_bytes_us(total, device), max(witness.us for witness in witnesses) - floor))


def _moving_us(group: Group, device: Device) -> float:
    """Microseconds of one launch that moves what all rounds of ``group`` do, but for tables that they pick from."""
    uses = (*group.reads, *group.writes)
    return launch_floor_us() + _bytes_us(sum(use.bytes for use in uses if use.least), device)


def _bytes_us(total: float, device: Device) -> float:
    """Microseconds of ``total`` bytes at the rate of the memory that holds them."""
    c = constants()
    rate = (
        device.memory_bandwidth_gb_per_s * c.dram_efficiency
        if total > c.l2_keeps * device.l2_bytes
        else c.l2_short_row_gb_per_s
    )
    return float(total / rate / 1000)


def _rounds(graph: Graph, group: Group, us: float, serial: float, form: str) -> tuple[float, str]:
    """Rounds that need each other: as launches one after another, or in programs that keep their state."""
    work = max(0.0, us - launch_floor_us())
    step = _GRID_STEP_US if group.form in (PRODUCT, TOTAL, COLUMN) else _round_us(graph, group)
    held = _carried(group) * work  # what is handed on stays in registers
    kept = launch_floor_us() + held + serial * (work - held + step)
    if group.form in (LIBRARY, KERNEL) or us * serial <= kept:
        return us * serial, form
    return kept, f"{form}, all rounds in one launch"


#: Rounds after which all that is handed on has come by.
_ROUNDS = 4


def _round_us(graph: Graph, group: Group) -> float:
    """What a round waits for the one before, in a program that keeps its state: the longest chain from what is handed on to what is
    handed on in its place. What a round reads and computes besides is done ahead."""
    ready: dict[int, float] = {}
    ends = [0.0]
    for _ in range(_ROUNDS):
        done: dict[tuple[int, int], float] = {}
        for node in group.nodes:
            begin = 0.0
            for use in node.reads:
                maker = graph.makers.get(use.value)
                beside = maker is not None and maker.serial >= node.serial  # what an outer loop makes is there
                before = ready.get(use.value[0], ends[-1] if beside else 0.0)
                begin = max(begin, done.get(use.value, before))
            levels = math.log2(max(1.0, node.row)) if node.form == ROW else 0.0
            done |= {use.value: begin + _STEP_US + levels * _LEVEL_US for use in node.writes}
        ends.append(max(done.values(), default=0.0))
        last = {storage: us for (storage, _), us in sorted(done.items())}
        ready = {old: last[new] for old, new in graph.handed.items() if new in last}
    return (ends[-1] - ends[1]) / (_ROUNDS - 1)


def _carried(group: Group) -> float:
    """The share of what a round moves that the round before wrote and the next one reads."""
    results = {(use.tensor.shape, use.tensor.dtype) for use in group.writes}
    states = [use for use in group.reads if (use.tensor.shape, use.tensor.dtype) in results][: len(group.writes)]
    moved = sum(use.bytes for use in (*group.reads, *group.writes))
    return 2 * sum(use.bytes for use in states) / moved if moved and group.form != PRODUCT else 0.0


def _depth(group: Group) -> int:
    """Nodes on the longest chain of the group, those that work on a few elements at a time only."""
    depth: dict[int, int] = {}
    made = {use.value: node.index for node in group.nodes for use in node.writes}
    for node in group.nodes:
        before = [depth[made[use.value]] for use in node.reads if use.value in made and made[use.value] in depth]
        depth[node.index] = 1 + max(before, default=0)
    return max(depth.values(), default=1)


def _candidates(graph: Graph, group: Group, device: Device, precise: bool) -> Iterator[Version]:
    form = group.form
    if form == LIBRARY:
        return
    if form == KERNEL:
        yield from kernel_streams(group, device)
    elif form == PRODUCT:
        yield from products(graph, group, device, precise)
    else:
        yield from streams(group, device)
