"""Memory work as well-written launches: each byte read and written once, by programs of a block of elements or of whole rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from kernlint.cost.arithmetic import slots_of, slots_of_node
from kernlint.cost.device import Device
from kernlint.cost.programs.price import program_time
from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.model import Traffic
from kernlint.headroom.graph import COLUMN, ROW, SCAN, SPECIAL, TOTAL, Graph, Node, Use
from kernlint.headroom.groups import LONGEST_ROW, Group, group_of
from kernlint.headroom.kernels import asked_from
from kernlint.headroom.serial import is_stepwise
from kernlint.records import replace
from kernlint.workload import (
    Atomic,
    Compute,
    Dot,
    Expr,
    Launch,
    Load,
    Loop,
    ProgramId,
    Reduce,
    Scan,
    Span,
    Storage,
    Store,
    Tensor,
    TorchOp,
)
from kernlint.workload import Node as KernelNode
from kernlint.workload import dtype as dt
from kernlint.workload.synthesis import iteration, lane, launch, pid, power_of_two

#: Launches one after another, and in a word what they are.
Version = tuple[tuple[Launch | TorchOp, ...], str]

#: Elements of a program.
_BLOCKS = (256, 512, 1024, 2048, 4096, 8192)
#: Bytes that lie together from which rows picked through an index are read like any others.
_ROW_BYTES = 64


def streams(group: Group, device: Device) -> Iterator[Version]:
    """Each element read once and written once, by programs of a block of elements or of whole rows."""
    elements, row = group.elements, group.row
    if row > 1 and row <= LONGEST_ROW:
        width = power_of_two(int(row))
        for height in dict.fromkeys(max(1, block // width) for block in _BLOCKS):
            first = one_pass(group, elements / (height * row), (height, width))
            yield ((first, second_pass(group)) if group.form in (TOTAL, COLUMN) else (first,)), "rows"
    split = row > 1 or group.form in (TOTAL, COLUMN)
    if split and group.passes > 1 and elements / row < device.sm_count:
        # Too few rows for a program each: all have to be done with their parts of a row before any goes over it again.
        for block in _BLOCKS:
            shares = math.ceil(elements / block)
            sums, results = one_pass(replace(group, writes=()), shares, (block,)), one_pass(group, shares, (block,))
            yield (sums, results), "partial results, then the rows again"
        return
    group = replace(group, reads=tuple(replace(use, bytes=use.bytes * group.passes) for use in group.reads))
    if row <= 1 or row > 2048:
        for block in _BLOCKS:
            for most in (None, 4 * device.sm_count):
                first = one_pass(group, math.ceil(elements / block), (block,), most)
                if not split:
                    yield (first,), "stream"
                else:
                    yield (first, second_pass(group)), "partial results, then their sum"


def moved_us(graph: Graph, device: Device) -> float:
    """Microseconds of one launch that reads what the nodes of ``graph`` read from outside, and writes what outlives the call."""
    whole = group_of(graph, graph.nodes)
    size = sum(use.bytes for use in (*whole.reads, *whole.writes))
    if not size:
        return 0.0
    return min(program_time(one_pass(whole, size / 4 / block, (block,), work=()), device).us for block in _BLOCKS)


def one_pass(
    group: Group,
    programs: float,
    tile: tuple[int, ...],
    most: int | None = None,
    work: Sequence[KernelNode] | None = None,
) -> Launch:
    """One launch of ``programs`` that reads and writes what the group does, each its share; with ``most`` that many programs
    at the most, which walk over the shares in a pipelined loop."""
    span, function = group.place
    shares = max(1, math.ceil(programs))
    count = shares if most is None else min(most, shares)
    turn = pid(0) if most is None else pid(0) + iteration(1) * count
    arguments: dict[str, Tensor] = {}
    body: list[KernelNode] = []
    picked, whole, shifts = _picked(group), _read_whole(group), _shifts(group)
    largest = max((use.bytes for use in group.reads), default=0.0)
    for number, use in enumerate(group.reads):
        base = f"in{number}"
        arguments[base] = use.tensor
        run, size = picked.get(use.value, (0, 0.0))
        if run and use.value in whole:
            # What is picked is loaded beside all of it.
            parts = replace(use, bytes=size)
            body.append(_picking(_share(base, _PICKED + number, parts, shares, turn, span), run))
            run, size = 0, 0.0
        load = _share(base, number + 1, replace(use, bytes=max(use.bytes, size)), shares, turn, span)
        if shifts and use.bytes >= largest / 2 and load.offset is not None:
            first = _SHIFTED + number * _MOST_TAPS
            body += [replace(load, id=first + i, offset=load.offset + shift) for i, shift in enumerate(shifts)]
        elif (moved := _moved_along(group, use)) and load.offset is not None:
            first = _SHIFTED + number * _MOST_TAPS
            body += [replace(load, id=first + i, offset=load.offset + (i + 1) * load.elements) for i in range(moved)]
        if run:
            load = _picking(load, run)
        body.append(load)
    block = math.prod(tile)
    if work is not None:
        body += work
    else:
        for node in group.nodes:
            body += work_of(node, group, tile, block, span)
    for number, use in enumerate(group.writes):
        base = f"out{number}"
        arguments[base] = use.tensor
        body.append(_share_store(base, 1000 + number, use, shares, turn, span))
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    if most is not None and shares > count:
        body = [Loop(1, "tl.range", math.ceil(shares / count), tuple(body), span, 3)]
    return launch("stream", tuple(body), (count,), arguments, span, function, warps)


#: The first number of the loads that pick of what is read as a whole too, and of those that look at neighbours.
_PICKED, _SHIFTED = 5_000, 10_000
#: Elements of a window that are loaded one by one, at the most.
_MOST_TAPS = 64


def _shifts(group: Group) -> list[int]:
    """How far from its own place each further load of a program is that looks at windows: those of the widest call, in two axes where
    they are as long as each other."""
    windows = [(taps, int(node.row)) for node in group.nodes if (taps := _taps(node)) > 1]
    if not windows:
        return []
    taps, row = max(windows)
    side = math.isqrt(taps)
    width = side if side * side == taps else taps
    return [place // width * row + place % width for place in range(1, min(taps, _MOST_TAPS))]


#: Calls whose results are their operand with its elements in other places, which no lane has from another one.
_MOVING = frozenset({"roll", "flip"})


def _moved_along(group: Group, use: Use) -> int:
    """How often more than once a program loads its share of ``use``: as often as the group wants it moved along, as neighbours of what is
    computed (the stencil of a lattice). How far makes no difference to what is asked of the caches."""
    asked, views = 0.0, {}
    for node in group.nodes:
        if isinstance(node.step, Launch):
            asked += _asked_of(node.step, use)
            continue
        for one in node.reads:
            if one.value == use.value and node.name in _MOVING:
                asked += one.bytes
            elif one.value == use.value:
                views[one.tensor.offset, one.tensor.shape, one.tensor.strides] = one.bytes
    # Without moved copies, views that overlap are told as they are.
    again = round((asked + sum(views.values())) / use.bytes) - 1 if asked and use.bytes else 0
    return min(max(0, again), _MOST_TAPS)


def _asked_of(launch: Launch, use: Use) -> float:
    """The bytes that ``launch`` asks of ``use`` at least."""
    asked = asked_from(traffic(launch))
    tensors = {base: launch.tensor(base) for base in asked}
    return sum(asked[base] for base, x in tensors.items() if x is not None and x.storage.id == use.value[0])


def _taps(node: Node) -> int:
    """The elements of the window that each result of ``node`` is made of; 1 where it is no call over windows."""
    return int(node.step.dims.get("taps", 1)) if isinstance(node.step, TorchOp) and node.step.kind == "reduce" else 1


def _picking(load: Load, run: int) -> Load:
    """``load`` with an index: of elements or rows of ``run`` bytes, wherever the data says."""
    shape = max(1, load.elements * load.dtype.bytes // run), max(1, run // load.dtype.bytes)
    return replace(load, offset=None, through=frozenset({999}), shape=shape)


def _table(node: Node) -> Use | None:
    """What ``node`` picks from through an index."""
    if not isinstance(node.step, TorchOp) or node.step.kind != "gather" or not node.reads:
        return None
    # What is picked has the type of the result; there may be more indices than that.
    alike = [use for use in node.reads if use.tensor.dtype == node.writes[0].tensor.dtype]
    return max(alike or node.reads, key=lambda use: use.tensor.numel or 0)


def _read_whole(group: Group) -> set[tuple[int, int]]:
    """Values that calls of the group read other than through an index."""
    tables = [(node, _table(node)) for node in group.nodes]
    return {use.value for node, table in tables for use in node.reads if use is not table}


def _picked(group: Group) -> dict[tuple[int, int], tuple[int, float]]:
    """Values that the group picks from through an index, with the bytes that lie together and those of all that is picked, by however
    many calls."""
    found: dict[tuple[int, int], tuple[int, float]] = {}
    for node in group.nodes:
        table = _table(node)
        if isinstance(node.step, TorchOp) and table is not None:
            run = node.step.dims.get("run")
            size = (table.tensor.dtype or dt.FLOAT32).bytes
            together = size * (run or 1) if run is not None or node.name == "gather" else _ROW_BYTES
            least, picked = found.get(table.value, (together, 0.0))
            # A bag adds up several rows for each of its results.
            each = node.step.dims.get("each", 1)
            picked += float(node.writes[0].tensor.numel or 1) * each * size * node.count
            found[table.value] = min(least, together), picked
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


def second_pass(group: Group) -> Launch:
    """The kernel that sums up what the programs of the first left: little data, one launch."""
    span, function = group.place
    load = Load(1, "parts", dt.FLOAT32, (1024,), lane(0), None, span)
    store = Store(2, "parts", dt.FLOAT32, (1,), lane(0), None, span)
    reduce = Reduce("sum", (1024,), 0, True, frozenset({1}), span)
    # Where it is not followed what the group writes, what it reads stands in for that.
    uses = (*group.writes, *group.nodes[-1].writes, *group.reads)
    parts = {"parts": uses[0].tensor} if uses else {}
    return launch("finish", (load, reduce, store), (1,), parts, span, function, 4)


def work_of(node: Node, group: Group, tile: tuple[int, ...], block: int, span: Span) -> list[KernelNode]:
    """What one program computes of ``node``."""
    share = max(1, round(block * min(1.0, node.elements / group.elements)))
    name = node.name.rstrip("_")
    if _taps(node) > 1:
        return [Compute("arith", share * _taps(node), dt.FLOAT32, span)]
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
    return [Compute(kind, round(share * _steps(node)), dtype or dt.FLOAT32, span)]


def _steps(node: Node) -> float:
    """Operations of an elementwise call for each of its results: one but for such as the distances of points."""
    step = node.step
    if not isinstance(step, TorchOp) or step.kind != "elementwise" or not step.writes:
        return 1.0
    return max(1.0, (step.flops or 0) / (step.writes[0].numel or math.inf))


def kernel_streams(group: Group, device: Device) -> Iterator[Version]:
    """A Triton kernel whose addresses are all known and that has no product: what it reads and computes, as a stream."""
    (node,) = group.nodes
    assert isinstance(node.step, Launch)
    found = traffic(node.step)
    if not plain(node.step, found):
        return
    arithmetic = special = 0.0
    for inner, executions in executed(node.step, found):
        if isinstance(inner, Compute) and inner.kind != "cast":
            amount = inner.elements * executions * node.count * _slots(inner)
            arithmetic, special = (
                (arithmetic, special + amount) if inner.kind == "special" else (arithmetic + amount, special)
            )
        elif isinstance(inner, Reduce):
            arithmetic += math.prod(inner.shape) * executions * node.count
    totals = _totals(node.step) if any(not access.known for access in found.accesses) else {}
    for update, executions in executed(node.step, found):
        if isinstance(update, Atomic) and update.base in totals:
            picked = found.by_node[id(update)].active_elements * executions * node.count
            arithmetic += _PICKING * picked * (totals[update.base].numel or 1)
    sizes = [use.bytes / (use.tensor.dtype or dt.FLOAT32).bytes for use in (*group.reads, *group.writes)]
    elements = max(sizes, default=1.0)
    span, _ = group.place
    for block in _BLOCKS:
        shares = math.ceil(elements / block)
        work = [
            Compute(kind, max(1, round(amount / shares)), dt.FLOAT32, span)
            for kind, amount in (("arith", arithmetic), ("special", special)) if amount
        ]  # fmt: skip
        if totals:
            added = {tensor.storage.id for tensor in totals.values()}
            stored = tuple(use for use in group.writes if use.tensor.storage.id not in added)
            for most in (device.sm_count, 4 * device.sm_count):
                first = one_pass(replace(group, writes=stored), shares, (block,), most, work)
                yield (_adding(first, totals),), "totals in registers, added at the end of each program"
            continue
        first = one_pass(group, shares, (block,), None, work)
        if shares > (node.step.programs or 1) and _sums_up(node.step, group):
            yield (first, second_pass(group)), "partial results, then their sum"
        else:
            yield (first, *_partial_sums(node.step, group, device)), "stream"


#: What the quotient or the rest of integers takes where a product by a reciprocal stands in its place.
_BY_RECIPROCAL = 2.0


def _slots(node: Compute) -> float:
    """Instructions of fp32 that an operation of ``node`` takes at least; more than one each where integers have 64 bits."""
    if not node.dtype.is_integer or node.dtype.bits < 64 or node.kind == "special":
        return 1.0
    return _BY_RECIPROCAL * slots_of("*", node.dtype) if node.op in ("%", "//") else slots_of_node(node)


#: Results of this share of the operands are what programs make of all that they read.
_REDUCED = 0.25


def _sums_up(launch: Launch, group: Group) -> bool:
    """Whether each program makes little of much: more programs leave partial results."""
    reduces = any(
        isinstance(node, Reduce) or (isinstance(node, Loop) and node.carried) for node, _ in launch.kernel.walk()
    )
    return reduces and sum(use.bytes for use in group.writes) <= _REDUCED * sum(use.bytes for use in group.reads)


def plain(launch: Launch, found: Traffic) -> bool:
    """Whether all that ``launch`` does is known: where it loads from and stores to, how often, and nothing serial in it."""
    kernel = launch.kernel
    if not kernel.complete or found.unknown_trips or kernel.has((Dot, Scan)):
        return False
    # What is loaded displaces some accesses: their elements lie where the data says, and not one after another.
    unknown = {access.base for access in found.accesses if not access.known or access.displaced}
    if unknown:
        return unknown <= _totals(launch).keys()
    return all(_by_all_alike(node) for node in kernel.nodes(Atomic)) and not is_stepwise(launch)


#: Updates whose order does not matter.
_MIXED = ("add", "max", "min")


def _by_all_alike(update: Atomic) -> bool:
    """Whether all programs update the same elements, in an order that does not matter: each can sum up on its own first."""
    mixes = update.op in _MIXED and update.offset is not None
    return mixes and not any(isinstance(atom, ProgramId) for atom in update.offset.atoms())  # type: ignore[union-attr]


#: Addresses up to which a thread keeps a total of each in registers.
_MOST_TOTALS = 64
#: Operations on an element for each total that it may belong to: whether it does, and the addition.
_PICKING = 2


def _totals(launch: Launch) -> dict[str, Tensor]:
    """What the atomics of ``launch`` update, if it has few elements and is nothing but updated: each program can keep totals of all of
    them on its own, wherever its updates go. Empty if that is not so for each of the atomics."""
    accesses = launch.kernel.nodes((Load, Store, Atomic))
    found: dict[str, Tensor] = {}
    needed: set[int] = set()
    others: set[int] = set()
    for access in accesses:
        assert isinstance(access, (Load, Store, Atomic))
        needed |= access.through | access.tested | (frozenset() if isinstance(access, Load) else access.depends)
        target = launch.tensor(access.base)
        if not isinstance(access, Atomic):
            others |= {target.storage.id} if target is not None else set()
        elif target is None or access.op not in _MIXED or not 0 < (target.numel or 0) <= _MOST_TOTALS:
            return {}
        else:
            found[access.base] = target
    seen = any(access.id in needed for access in launch.kernel.nodes(Atomic))
    return {} if seen or any(tensor.storage.id in others for tensor in found.values()) else found


def _adding(first: Launch, totals: Mapping[str, Tensor]) -> Launch:
    """``first`` with the ``totals`` of its threads summed up and added to those of all programs at its end."""
    span = first.span
    tail: list[KernelNode] = []
    for number, (base, tensor) in enumerate(totals.items()):
        count = tensor.numel or 1
        tail += [Reduce("sum", (32 * first.num_warps,), 0, True, frozenset(), span)] * count
        tail.append(
            Atomic(2000 + number, base, tensor.dtype or dt.FLOAT32, (count,), lane(0), None, span, sem="relaxed")
        )
    kernel = replace(first.kernel, body=(*first.kernel.body, *tail))
    return replace(first, kernel=kernel, arguments={**first.arguments, **totals})


def _partial_sums(launch: Launch, group: Group, device: Device) -> tuple[TorchOp, ...]:
    """The sums over what programs as many as the SMs would leave of each tensor that ``launch`` updates by atomics."""
    span, function = group.place
    found = []
    for base in dict.fromkeys(node.base for node in launch.kernel.nodes(Atomic)):
        target = launch.arguments.get(base)
        if isinstance(target, Tensor) and target.numel is not None:
            shape = (device.sm_count, target.numel)
            parts = Tensor("parts", target.dtype, shape, (target.numel, 1), Storage(-1, "empty"))
            found.append(TorchOp("sum", "reduce", (parts,), (target,), span, function, 0, {"inner": 0}))
    return tuple(found)


def executed(launch: Launch, found: Traffic) -> Iterator[tuple[KernelNode, float]]:
    """Every node of the kernel with how often all programs together run it."""
    for inner, loops in launch.kernel.walk():
        times = float(found.programs)
        for loop in loops:
            times *= found.trips.get(loop.id, 1.0)
        yield inner, times
