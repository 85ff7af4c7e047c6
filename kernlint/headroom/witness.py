"""Well-written launches for a group of work, as data that the cost model prices: the proof that a time can be reached.

Each canonical form is a small family of launches (block sizes, warps, splits), of which the fastest counts. Their accesses are
coalesced and touch each byte once; what they compute is what the group's nodes compute. They say what a good version looks
like, not how its source reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kernlint.cost.device import Device
from kernlint.cost.dot_launch import kernel_time
from kernlint.cost.traffic import Traffic, traffic
from kernlint.headroom import kernels
from kernlint.headroom.graph import (
    COLUMN,
    KERNEL,
    LIBRARY,
    PRODUCT,
    ROW,
    SCAN,
    SPECIAL,
    TOTAL,
    Graph,
    Node,
    Use,
    product_extents,
    source_type,
)  # fmt: skip
from kernlint.headroom.groups import LONGEST_ROW, Group
from kernlint.records import dataclass, replace
from kernlint.workload import (
    Atomic,
    Compute,
    Dot,
    Dtype,
    Expr,
    Launch,
    Load,
    Loop,
    Operand,
    Reduce,
    Scan,
    Span,
    Store,
    Tensor,
    TorchOp,
    concrete,
)  # fmt: skip
from kernlint.workload import (
    Node as KernelNode,
)
from kernlint.workload import dtype as dt
from kernlint.workload.expr import floordiv, mod
from kernlint.workload.synthesis import below, dot, iteration, lane, launch, pid, power_of_two

_BLOCKS = (256, 512, 1024, 2048, 4096, 8192)
_TILES = ((16, 64), (16, 128), (32, 64), (32, 128), (64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))
_SPLITS = (1, 2, 4, 8, 16)
#: Rows of the output that one group of programs walks together, so that they share operands in L2.
_GROUP_ROWS = 8
#: Bytes that lie together from which rows picked through an index are read like any others.
_ROW_BYTES = 64
#: Torch calls of a group up to which they are priced as they are.
_MOST_CALLS = 64
#: What a serial step costs a program that holds its state in registers: a dependent chain of a few instructions.
_STEP_US = 0.012
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


def place(group: Group) -> tuple[Span, str]:
    """Where the source asks for the work of ``group``, and in which function."""
    node = group.products[0] if group.products else group.nodes[-1]
    return node.step.span, node.step.function


def price(steps: Sequence[Launch | TorchOp], device: Device) -> tuple[float, float]:
    """(microseconds, sigma) of ``steps`` one after another, each once and replayed alone."""
    from kernlint.cost.torch_ops import torch_op_time

    times = [kernel_time(s, device) if isinstance(s, Launch) else torch_op_time(s, device) for s in steps]
    total = sum(t.us for t in times)
    sigma = math.sqrt(sum((t.sigma * t.us) ** 2 for t in times)) / total if total else 0.0
    return total, sigma


def witness_of(graph: Graph, group: Group, device: Device, precise: bool) -> Witness:
    """The fastest canonical version of ``group``. ``precise`` keeps fp32 products at fp32 precision."""
    priced = [(*price(steps, device), steps, form) for steps, form in _candidates(graph, group, device, precise)]
    count = max(node.count for node in group.nodes)
    own = price(tuple(node.step for node in group.nodes), device) if len(group.nodes) <= _MOST_CALLS else None
    if own is not None:
        priced.append((own[0] * count, own[1], tuple(node.step for node in group.nodes), "as it is"))
    us, sigma, steps, form = min(priced, key=lambda one: one[0])
    us = max(us, _window_us(group, device))
    if group.form == KERNEL:
        us = min(us, _trimmed_us(group, device, count))
    serial = max(node.serial for node in group.nodes)
    if serial > 1:
        us, form = _rounds(group, us, serial, form)
    elif group.form not in (LIBRARY, KERNEL):
        us = math.hypot(us, _depth(group) * _STEP_US)
    return Witness(group, steps, us, sigma, form)


def _trimmed_us(group: Group, device: Device, count: float) -> float:
    """The kernel of a product as it is, but without blocks that are masked, tiles that spill and SMs that have nothing to do."""
    (node,) = group.nodes
    assert isinstance(node.step, Launch)
    if not node.step.kernel.dots():
        return math.inf
    return count * kernels.without(node.step, device, frozenset({kernels.IDLE, kernels.FEW}))


def _window_us(group: Group, device: Device) -> float:
    """The least for a convolution over windows: cuDNN's own time. Its operand is gathered, which the tiled product does not say."""
    from kernlint.cost.torch_ops import torch_op_time

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
    from kernlint.cost.programs import constants, launch_floor_us

    c, floor = constants(), launch_floor_us()
    total = sum(use.bytes for witness in witnesses for use in (*witness.group.reads, *witness.group.writes))
    rate = (
        device.memory_bandwidth_gb_per_s * c.dram_efficiency
        if total > c.l2_keeps * device.l2_bytes
        else c.l2_short_row_gb_per_s
    )
    return float(floor + max(total / rate / 1000, max(witness.us for witness in witnesses) - floor))


def _rounds(group: Group, us: float, serial: float, form: str) -> tuple[float, str]:
    """Rounds that need each other: as launches one after another, or in programs that keep their state."""
    from kernlint.cost.programs import launch_floor_us

    work = max(0.0, us - launch_floor_us())
    step = _GRID_STEP_US if group.form in (PRODUCT, TOTAL, COLUMN) else _depth(group) * _STEP_US
    kept = launch_floor_us() + serial * (work + step)
    if group.form in (LIBRARY, KERNEL) or us * serial <= kept:
        return us * serial, form
    return kept, f"{form}, all rounds in one launch"


def _depth(group: Group) -> int:
    """Nodes on the longest chain of the group, those that work on a few elements at a time only."""
    depth: dict[int, int] = {}
    made = {use.value: node.index for node in group.nodes for use in node.writes}
    for node in group.nodes:
        before = [depth[made[use.value]] for use in node.reads if use.value in made and made[use.value] in depth]
        depth[node.index] = 1 + max(before, default=0)
    return max(depth.values(), default=1)


def _candidates(
    graph: Graph, group: Group, device: Device, precise: bool
) -> Iterator[tuple[tuple[Launch | TorchOp, ...], str]]:
    form = group.form
    if form == LIBRARY:
        return
    if form == KERNEL:
        yield from _kernel(group, device)
    elif form == PRODUCT:
        yield from _product(graph, group, device, precise)
    else:
        yield from _stream(group, device)


# -- memory -----------------------------------------------------------------------------------------------------------


def _stream(group: Group, device: Device) -> Iterator[tuple[tuple[Launch | TorchOp, ...], str]]:
    """Each element read once and written once, by programs of a block of elements or of whole rows."""
    elements, row = group.elements, group.row
    if row > 1 and row <= LONGEST_ROW:
        for block in _BLOCKS:
            height = max(1, block // power_of_two(int(row)))
            yield (_pass(group, elements / (height * row), (height, power_of_two(int(row)))),), "rows"
            if height == 1:
                break
    split = row > 1 or group.form in (TOTAL, COLUMN)
    group = replace(group, reads=tuple(replace(use, bytes=use.bytes * group.passes) for use in group.reads))
    if row <= 1 or row > 2048:
        for block in _BLOCKS:
            for most in (None, 4 * device.sm_count):
                first = _pass(group, math.ceil(elements / block), (block,), most)
                if not split:
                    yield (first,), "stream"
                else:
                    yield (first, _second_pass(group)), "partial results, then their sum"


def _pass(
    group: Group,
    programs: float,
    tile: tuple[int, ...],
    most: int | None = None,
    work: Sequence[KernelNode] | None = None,
) -> Launch:
    """One launch of ``programs`` that reads and writes what the group does, each its share; with ``most`` that many programs
    at the most, which walk over the shares in a pipelined loop."""
    span, function = place(group)
    shares = max(1, math.ceil(programs))
    count = shares if most is None else min(most, shares)
    turn = pid(0) if most is None else pid(0) + iteration(1) * count
    arguments: dict[str, Tensor] = {}
    body: list[KernelNode] = []
    picked = _picked(group)
    for number, use in enumerate(group.reads):
        base = f"in{number}"
        arguments[base] = use.tensor
        load = _share(base, number + 1, use, shares, turn, span)
        if use.value in picked and (run := picked[use.value]) < _ROW_BYTES:
            # Single elements through an index: wherever the data says.
            load = replace(
                load,
                offset=None,
                through=frozenset({999}),
                shape=(max(1, load.elements * load.dtype.bytes // run), max(1, run // load.dtype.bytes)),
            )
        body.append(load)
    block = math.prod(tile)
    if work is not None:
        body += work
    else:
        for node in group.nodes:
            body += _work(node, group, tile, block, span)
    for number, use in enumerate(group.writes):
        base = f"out{number}"
        arguments[base] = use.tensor
        body.append(_share_store(base, 1000 + number, use, shares, turn, span))
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    if most is not None and shares > count:
        body = [Loop(1, "tl.range", math.ceil(shares / count), tuple(body), span, 3)]
    return launch("stream", tuple(body), (count,), arguments, span, function, warps)


def _picked(group: Group) -> dict[tuple[int, int], int]:
    """Values that the group picks from through an index, with the bytes that lie together."""
    found = {}
    for node in group.nodes:
        if isinstance(node.step, TorchOp) and node.step.kind == "gather" and node.reads:
            table = max(node.reads, key=lambda use: use.tensor.numel or 0)
            run = node.step.dims.get("run")
            size = (table.tensor.dtype or dt.FLOAT32).bytes
            found[table.value] = size * (run or 1) if run is not None or node.name == "gather" else _ROW_BYTES
    return found


def _share(base: str, number: int, use: Use, shares: int, turn: Expr, span: Span) -> Load:
    """One of the ``shares`` of what is read: contiguous, all together touch it once."""
    dtype = use.tensor.dtype or dt.FLOAT32
    count = max(1, math.ceil(use.bytes / dtype.bytes / shares))
    offset = turn * count + lane(0) if use.bytes / dtype.bytes >= shares else lane(0)
    return Load(number, base, dtype, (count,), offset, None, span)


def _share_store(base: str, number: int, use: Use, shares: int, turn: Expr, span: Span) -> Store:
    dtype = use.tensor.dtype or dt.FLOAT32
    count = max(1, math.ceil(use.bytes / dtype.bytes / shares))
    return Store(number, base, dtype, (count,), turn * count + lane(0), None, span)


def _second_pass(group: Group) -> Launch:
    """The kernel that sums up what the programs of the first left: little data, one launch."""
    span, function = place(group)
    load = Load(1, "parts", dt.FLOAT32, (1024,), lane(0), None, span)
    store = Store(2, "parts", dt.FLOAT32, (1,), lane(0), None, span)
    reduce = Reduce("sum", (1024,), 0, True, frozenset({1}), span)
    tensor = group.writes[0].tensor if group.writes else group.nodes[-1].writes[0].tensor
    return launch("finish", (load, reduce, store), (1,), {"parts": tensor}, span, function, 4)


def _work(node: Node, group: Group, tile: tuple[int, ...], block: int, span: Span) -> list[KernelNode]:
    """What one program computes of ``node``."""
    share = max(1, round(block * min(1.0, node.elements / group.elements)))
    name = node.name.rstrip("_")
    if node.form in (ROW, TOTAL, COLUMN) and name not in ("softmax", "log_softmax") and node.form != SCAN:
        shape = tile if share == block else (share,)
        found: list[KernelNode] = [Reduce("sum", shape, len(shape) - 1, len(shape) == 1, frozenset(), span)]
        if isinstance(node.step, TorchOp) and node.step.kind == "norm":
            found = [*found, *found, Compute("arith", 3 * share, dt.FLOAT32, span)]
        return found
    if node.form == ROW:
        reduce = Reduce("sum", tile, len(tile) - 1, len(tile) == 1, frozenset(), span)
        return [reduce, Compute("special", share, dt.FLOAT32, span), reduce, Compute("arith", share, dt.FLOAT32, span)]
    if node.form == SCAN:
        return [Scan("sum", tile, len(tile) - 1, span)]
    if isinstance(node.step, TorchOp) and node.step.kind in ("copy", "transpose", "fill", "cat", "gather"):
        return []
    dtype = node.writes[0].tensor.dtype if node.writes else None
    kind = (
        "cast"
        if isinstance(node.step, TorchOp) and node.step.kind == "cast"
        else "special"
        if name in SPECIAL
        else "arith"
    )
    return [Compute(kind, share, dtype or dt.FLOAT32, span)]


def _kernel(group: Group, device: Device) -> Iterator[tuple[tuple[Launch | TorchOp, ...], str]]:
    """A Triton kernel whose addresses are all known and that has no product: what it reads and computes, as a stream."""
    (node,) = group.nodes
    assert isinstance(node.step, Launch)
    found = traffic(node.step)
    if not plain(node.step, found):
        return
    arithmetic = special = 0.0
    for inner, executions in executed(node.step, found):
        if isinstance(inner, Compute) and inner.kind != "cast":
            amount = inner.elements * executions * node.count
            arithmetic, special = (
                (arithmetic, special + amount) if inner.kind == "special" else (arithmetic + amount, special)
            )
        elif isinstance(inner, Reduce):
            arithmetic += math.prod(inner.shape) * executions * node.count
    elements = max(use.bytes / (use.tensor.dtype or dt.FLOAT32).bytes for use in (*group.reads, *group.writes))
    span, _ = place(group)
    for block in _BLOCKS:
        shares = math.ceil(elements / block)
        work = [
            Compute(kind, max(1, round(amount / shares)), dt.FLOAT32, span)
            for kind, amount in (("arith", arithmetic), ("special", special)) if amount
        ]  # fmt: skip
        yield (_pass(group, shares, (block,), None, work),), "stream"


def plain(launch: Launch, found: Traffic) -> bool:
    """Whether all that ``launch`` does is known: where it loads from and stores to, how often, and nothing serial in it."""
    kernel = launch.kernel
    if not kernel.complete or found.unknown_trips or any(not access.known for access in found.accesses):
        return False
    return not any(True for _ in kernel.walk((Dot, Scan, Atomic)))


def executed(launch: Launch, found: Traffic) -> Iterator[tuple[KernelNode, float]]:
    """Every node of the kernel with how often all programs together run it."""
    for inner, loops in launch.kernel.walk():
        times = float(found.programs)
        for loop in loops:
            times *= found.trips.get(loop.id, 1.0)
        yield inner, times


# -- products ---------------------------------------------------------------------------------------------------------


def _product(
    graph: Graph, group: Group, device: Device, precise: bool
) -> Iterator[tuple[tuple[Launch | TorchOp, ...], str]]:
    products = group.products
    if len(products) == 2:
        yield (_flash(group),), "flash attention"
        return
    node = products[0]
    step = node.step
    assert isinstance(step, TorchOp)
    extents = product_extents(step)
    assert extents is not None
    batch, m, n, k = extents
    if min(m, n) <= 4:
        # A product with vectors is bound by the matrix: programs of rows that each add up in registers.
        yield from _stream_product(group, batch, m, n, k)
    for tile_m, tile_n in _TILES:
        if (tile_m > 16 and tile_m >= 2 * m) or (tile_n > 64 and tile_n >= 2 * n):
            continue
        for split in _SPLITS:
            tiles = batch * math.ceil(m / tile_m) * math.ceil(n / tile_n)
            if split > 1 and (tiles * split > 4 * device.sm_count or k / split < 128):
                break
            made = _tiled(graph, group, node, (batch, m, n, k), (tile_m, tile_n), split, precise)
            if split > 1:
                yield (made, _second_pass(group)), "tiled product, K split"
            else:
                yield (made,), "tiled product"


def _stream_product(
    group: Group, batch: int, m: int, n: int, k: int
) -> Iterator[tuple[tuple[Launch | TorchOp, ...], str]]:
    total = float(batch * max(m, n) * k)
    nodes = tuple(
        replace(node, elements=min(node.elements, total), form=ROW if node.form == PRODUCT else node.form)
        for node in group.nodes
    )
    wide = replace(group, nodes=nodes)
    for block in (1024, 2048, 4096, 8192):
        yield (_pass(wide, total / block, (block,)),), "rows of the matrix"


def _flash(group: Group) -> TorchOp:
    first, second = group.products
    made = {use.value for node in group.nodes for use in node.writes}
    reads = tuple(use.tensor for node in (first, second) for use in node.reads if use.value not in made)
    extra = tuple(use.tensor for use in group.reads if use.tensor not in reads)
    step = first.step
    assert isinstance(step, TorchOp) and isinstance(second.step, TorchOp)
    flops = (step.flops or 0) + (second.step.flops or 0)
    writes = tuple(use.tensor for use in group.writes)
    dims = {"k": step.dims.get("k", 128)}
    return TorchOp(
        "scaled_dot_product_attention", "attention", (*reads, *extra), writes, step.span, step.function, flops, dims
    )


def _tiled(
    graph: Graph,
    group: Group,
    node: Node,
    extents: tuple[int, int, int, int],
    tile: tuple[int, int],
    split: int,
    precise: bool,
) -> Launch:
    """A product in tiles, K in a pipelined loop, everything else of the group before and behind it."""
    span, function = place(group)
    batch, m, n, k = extents
    tile_m, tile_n = tile
    left, right = node.reads[0], node.reads[1]
    types = source_type(graph, left), source_type(graph, right)
    wide = max(types, key=lambda t: (t.is_float, t.bits))
    fed = wide
    tile_k = {8: 128, 16: 64}.get(fed.bits, 32)
    tile_k = max(16, min(tile_k, power_of_two(k)))
    deep = math.ceil(k / split)
    grid_m, grid_n = math.ceil(m / tile_m), math.ceil(n / tile_n)
    if grid_m % _GROUP_ROWS == 0 and grid_n > 1:
        inside = _GROUP_ROWS * grid_n
        row = floordiv(pid(0), inside) * _GROUP_ROWS + mod(mod(pid(0), inside), _GROUP_ROWS)
        column = floordiv(mod(pid(0), inside), _GROUP_ROWS)
    else:
        row, column = mod(pid(0), grid_m), floordiv(pid(0), grid_m)
    at = pid(2) * deep + iteration(1) * tile_k if split > 1 else iteration(1) * tile_k
    row, column = _expr(row), _expr(column)
    a_strides, b_strides = _strides(left.tensor, (m, k)), _strides(right.tensor, (k, n))
    if isinstance(node.step, TorchOp) and node.step.kind == "conv":
        a_strides, b_strides = (k, 1), (1, k)  # channels last, and the filters as rows, which are K-major both
    a_lane = (row * tile_m + lane(0)) * a_strides[0] + (at + lane(1)) * a_strides[1]
    b_lane = (at + lane(0)) * b_strides[0] + (column * tile_n + lane(1)) * b_strides[1]
    a = Load(
        1, "a", types[0], (tile_m, tile_k), pid(1) * (m * k) + a_lane, below((row * tile_m + lane(0), m)), span, 0.0
    )
    b = Load(
        2, "b", types[1], (tile_k, tile_n), pid(1) * (k * n) + b_lane, below((column * tile_n + lane(1), n)), span, 0.0
    )
    operands = (
        Operand(fed, frozenset({1}), (), types[0] == fed, a_strides[1], a_strides[0], span, 1),
        Operand(fed, frozenset({2}), (), types[1] == fed, b_strides[0], b_strides[1], span, 2),
    )
    product = dot(3, tile_m, tile_n, tile_k, *operands, span)
    if fed.bits == 32 and precise:
        product = replace(product, precision="tf32x3")
    inner: list[KernelNode] = [a, b]
    for operand, source, count in ((operands[0], types[0], tile_m * tile_k), (operands[1], types[1], tile_k * tile_n)):
        if source != operand.dtype:
            inner.append(Compute("cast", count, operand.dtype, span))
    loop = Loop(1, "range", math.ceil(deep / tile_k), (*inner, product), span, None, True)
    arguments: dict[str, Tensor] = {"a": _typed(left.tensor, types[0]), "b": _typed(right.tensor, types[1])}
    after: list[KernelNode] = [loop]
    programs = grid_m * grid_n * batch
    operand_values = _operand_values(graph, node)
    for number, use in enumerate(group.reads):
        if use.value in operand_values:
            continue
        arguments[f"in{number}"] = use.tensor
        dtype = use.tensor.dtype or dt.FLOAT32
        share = max(1, math.ceil(use.bytes / dtype.bytes / programs))
        after.append(Load(10 + number, f"in{number}", dtype, (share,), pid(0) * share + lane(0), None, span))
    block = tile_m * tile_n
    for other in group.nodes:
        if other.index > node.index:
            size = max(1, round(block * min(1.0, other.elements / max(1.0, m * n * batch))))
            after += _work(
                replace(other, elements=float(size)),
                replace_elements(group, float(block)),
                (tile_m, tile_n),
                block,
                span,
            )
    for number, use in enumerate(group.writes):
        arguments[f"out{number}"] = use.tensor
        after.append(_output(use, number, programs, (row, column), (tile_m, tile_n), (m, n), span))
    warps = 8 if block >= 128 * 128 else 4
    grid = (grid_m * grid_n, batch, split) if split > 1 else (grid_m * grid_n, batch)
    return launch("product", tuple(after), grid, arguments, span, function, warps, 3)


def replace_elements(group: Group, elements: float) -> Group:
    """``group`` with an iteration space of ``elements``: one program's."""
    return Group(tuple(replace(node, elements=elements) for node in group.nodes), group.reads, group.writes)


def _output(
    use: Use,
    number: int,
    programs: int,
    at: tuple[Expr, Expr],
    tile: tuple[int, int],
    shape: tuple[int, int],
    span: Span,
) -> Store:
    dtype = use.tensor.dtype or dt.FLOAT32
    row, column = at
    if (use.tensor.numel or 0) >= shape[0] * shape[1]:
        offset = pid(1) * (shape[0] * shape[1]) + (row * tile[0] + lane(0)) * shape[1] + column * tile[1] + lane(1)
        bounds = below((row * tile[0] + lane(0), shape[0]), (column * tile[1] + lane(1), shape[1]))
        return Store(100 + number, f"out{number}", dtype, tile, offset, bounds, span)
    share = max(1, math.ceil(use.bytes / dtype.bytes / programs))
    return Store(100 + number, f"out{number}", dtype, (share,), pid(0) * share + lane(0), None, span)


def _operand_values(graph: Graph, node: Node) -> set[tuple[int, int]]:
    """The values that the operands of a product are, through conversions and scales too."""
    found = {use.value for use in node.reads[:2]}
    for use in node.reads[:2]:
        value = use.value
        for _ in range(16):
            maker = graph.makers.get(value)
            if maker is None or not maker.reads:
                break
            value = max(maker.reads, key=lambda u: u.bytes).value
            found.add(value)
    return found


def _strides(tensor: Tensor, shape: tuple[int, int]) -> tuple[int, int]:
    """The strides of the last two axes as far as they say which axis is contiguous, for a dense matrix of ``shape``."""
    strides = tuple(concrete(s) for s in tensor.strides or ())
    rows, columns = shape
    if len(strides) >= 2 and strides[-2] == 1 and strides[-1] != 1:
        return (1, rows)
    return (columns, 1)


def _typed(tensor: Tensor, dtype: Dtype) -> Tensor:
    return replace(tensor, dtype=dtype)


def _expr(value: object) -> Expr:
    return value if isinstance(value, Expr) else Expr.constant(value)  # type: ignore[arg-type]
