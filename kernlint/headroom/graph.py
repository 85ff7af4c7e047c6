"""The computation behind a workload: what each step reads and makes, and how its iterations relate.

The steps of a reference (or, without one, of the program itself) as nodes of a data-flow graph. A value is a storage as one
step left it; a node knows which values it reads and makes, how many bytes of them, and what *form* its work has: which of its
results need which of its operands. The form decides what may share a kernel (:mod:`kernlint.headroom.groups`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.probe import ASSUMED_TRIP
from kernlint.cost.traffic.reuse import footprints as distinct_bytes
from kernlint.records import dataclass, replace
from kernlint.workload import Dtype, Expr, Launch, Repeat, Step, Tensor, TorchOp, Workload, concrete
from kernlint.workload import dtype as dt
from kernlint.workload.steps import walk_steps

#: Each result needs the operand elements at its own place, or at a permuted one.
MAP = "map"
#: Each result needs all of its row: the last axis.
ROW = "row"
#: Each result needs all of a column, or of any axis but the last.
COLUMN = "column"
#: One result needs everything.
TOTAL = "total"
#: A running result along a row.
SCAN = "scan"
#: A matrix product.
PRODUCT = "product"
#: A convolution, attention, sort ...: what a library does in its own way.
LIBRARY = "library"
#: A Triton kernel, whose form is not looked into.
KERNEL = "kernel"

_ROW_KINDS = frozenset({"softmax", "norm"})
_MAPS = frozenset({"elementwise", "cast", "copy", "transpose", "fill", "cat", "random"})
_RUNNING = frozenset({"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"})
_PLANE_NORMS = frozenset({"batch_norm", "group_norm", "instance_norm"})
#: Sums to places that indices name.
_SUMMED = ("index_add", "scatter_add")
_SCATTERS = ("scatter", "index_add", "index_copy", "index_put", "index_fill")

#: Torch functions whose elements cost more than an addition: exponentials, roots, divisions.
SPECIAL = frozenset(
    {"div", "true_divide", "divide", "pow", "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt"}
    | {"sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "atan2", "sigmoid", "gelu", "silu", "elu"}
    | {"selu", "celu", "softplus", "mish", "logsigmoid", "tanhshrink", "erf", "erfc", "reciprocal", "logaddexp"}
    | {"remainder", "fmod", "floor_divide", "softmax", "log_softmax", "logsumexp"}
)  # fmt: skip


@dataclass(frozen=True)
class Use:
    """``bytes`` that a node reads of a value or writes as one; ``tensor`` is the view, ``value`` the storage and the number of
    the write that made it (0: it was there before the call)."""

    tensor: Tensor
    value: tuple[int, int]
    bytes: float
    #: At least so many: in rounds that look at the same memory again, or at tensors of which only one was seen; none of a table,
    #: whose indices may all be one.
    least: float


@dataclass(frozen=True)
class Node:
    """One step that does work on the device, ``count`` times ``serial`` times a call.

    ``count`` are rounds of Python loops that do not need each other, and so could be one: ``elements`` (the points of the
    iteration space) and the bytes of ``reads`` and ``writes`` are those of all of them. ``serial`` are rounds that do.
    ``row`` is the extent of the last axis.
    """

    index: int
    step: TorchOp | Launch
    form: str
    reads: tuple[Use, ...]
    writes: tuple[Use, ...]
    elements: float
    row: float
    count: float = 1.0
    serial: float = 1.0

    @property
    def name(self) -> str:
        return self.step.name if isinstance(self.step, TorchOp) else self.step.kernel.name


@dataclass(frozen=True)
class Graph:
    """The nodes of a workload in order; ``kept`` are the values that outlive the call."""

    nodes: tuple[Node, ...]
    kept: frozenset[tuple[int, int]]
    readers: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    makers: dict[tuple[int, int], Node] = field(default_factory=dict)
    #: Bytes of each storage as far as any view in the call shows it.
    whole: dict[int, float] = field(default_factory=dict)
    #: What a round of a loop reads of the one before, by its storage: the storage that this round writes in its place.
    handed: dict[int, int] = field(default_factory=dict)


def graph_of(workload: Workload) -> Graph:
    """The data-flow graph of ``workload``; sizes that are open count as one."""
    builder = _Builder()
    builder.add(workload.steps, 1.0, 1.0)
    kept = frozenset((t.storage.id, builder.version.get(t.storage.id, 0)) for t in workload.outputs)
    inputs = {t.storage.id for t in workload.inputs}
    # What was there before the call and is written in it outlives it too.
    kept |= {(storage, version) for storage, version in builder.version.items() if storage in inputs}
    whole: dict[int, float] = {}
    used = (use.tensor for node in builder.nodes for use in (*node.reads, *node.writes))
    for tensor in (*workload.inputs, *workload.outputs, *used):
        whole[tensor.storage.id] = max(whole.get(tensor.storage.id, 0.0), view_bytes(tensor))
    makers = {made.value: node for node in builder.nodes for made in node.writes}
    return Graph(tuple(builder.nodes), kept, builder.readers, makers, whole, builder.handed)


class _Builder:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.version: dict[int, int] = {}
        self.readers: dict[tuple[int, int], list[int]] = {}
        self.handed: dict[int, int] = {}

    def add(self, steps: Iterable[Step], count: float, serial: float) -> None:
        for step in steps:
            if isinstance(step, Repeat):
                trips = trips_of(step)
                if carries(step):
                    self.handed |= _handed(step)
                    self.add(step.body, count, serial * trips)
                else:
                    self.add(step.body, count * trips, serial)
            elif isinstance(step, TorchOp) and step.kind != "alloc":
                sums_runs = step.name.startswith(_SUMMED) and any(t.storage.expected.ordered for t in step.reads)
                # What goes to one place lies together, as the elements of a row do: a program sums them up.
                self._node(step, ROW if sums_runs else form_of(step), step.reads, step.writes, count, serial)
            elif isinstance(step, Launch):
                reads, writes = launched(step)
                self._node(step, KERNEL, reads, writes, count, serial)

    def _node(
        self, step: TorchOp | Launch, form: str, reads: Iterable[Tensor], writes: Iterable[Tensor], count: float,
        serial: float,
    ) -> None:  # fmt: skip
        index = len(self.nodes)
        written = tuple(writes)
        amounts = footprints(step) if isinstance(step, Launch) else {}
        doubtful = conditional(step) if isinstance(step, Launch) else set()
        sure = bytes_at_known_places(step) if isinstance(step, Launch) else {}
        chosen = doubtful if isinstance(step, Launch) else picked(step)
        used = []
        for tensor in reads:
            value = (tensor.storage.id, self.version.get(tensor.storage.id, 0))
            size = amounts.get(tensor.storage.id)
            amount = _read_bytes(step, tensor) if size is None else _within(tensor, size)
            least = 0.0 if tensor.storage.id in chosen else amount
            if isinstance(step, Launch):
                least = min(least, sure.get(tensor.storage.id, 0.0))
            used.append(Use(tensor, value, amount, least))
            self.readers.setdefault(value, []).append(index)
        made = []
        for tensor in written:
            self.version[tensor.storage.id] = self.version.get(tensor.storage.id, 0) + 1
            size = amounts.get(tensor.storage.id)
            amount = view_bytes(tensor) if size is None else _within(tensor, size)
            least = 0.0 if tensor.storage.id in doubtful else amount
            made.append(Use(tensor, (tensor.storage.id, self.version[tensor.storage.id]), amount, least))
        tensors = [*(use.tensor for use in used), *written]
        elements = max([float(t.numel or 1) for t in tensors], default=1.0)
        if isinstance(step, TorchOp) and step.kind == "gather" and written:
            elements = float(written[0].numel or 1)
        widest = max(tensors, key=lambda t: t.numel or 0, default=None)
        row = last_extent(widest) if widest is not None else 1.0
        if isinstance(step, TorchOp) and step.kind == "norm" and step.name in _PLANE_NORMS:
            row = _plane(step)
        if count != 1:
            used = [replace(use, bytes=use.bytes * count) for use in used]
            made = [replace(use, bytes=use.bytes * count) for use in made]
            elements *= count
        self.nodes.append(Node(index, step, form, tuple(used), tuple(made), elements, row, count, serial))


def _within(tensor: Tensor, size: float) -> float:
    """``size`` bytes of ``tensor``, or all of them where these are fewer: of how many it has, a kernel knows more than open extents."""
    return size if tensor.numel is None else min(size, view_bytes(tensor))


def trips_of(repeat: Repeat) -> float:
    """Rounds of a Python loop."""
    count = repeat.count.evaluate({}) if isinstance(repeat.count, Expr) else repeat.count
    return ASSUMED_TRIP if count is None else max(0.0, float(count))


def carries(repeat: Repeat) -> bool:
    """Whether a round of the loop reads what an earlier round wrote."""
    made = {t.storage.id for step, _ in walk_steps(repeat.earlier or ()) for t in _used(step)[1]}
    own: set[int] = set()
    for step, _ in walk_steps(repeat.body):
        read, written = _used(step)
        if any(t.storage.id in made and t.storage.id not in own for t in read):
            return True
        own |= {t.storage.id for t in written}
    return False


def _handed(repeat: Repeat) -> dict[int, int]:
    """The storages that a round writes by those that the round before wrote in their place."""
    rounds = (
        [t.storage.id for step, _ in walk_steps(steps) for t in _used(step)[1]]
        for steps in (repeat.earlier, repeat.body)
    )
    return dict(zip(*rounds))


def _used(step: Step) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """The tensors that ``step`` itself reads and writes."""
    if isinstance(step, TorchOp):
        return step.reads, step.writes
    return launched(step) if isinstance(step, Launch) else ((), ())


def launched(launch: Launch) -> tuple[list[Tensor], list[Tensor]]:
    """(tensors that ``launch`` reads, that it writes); what an atomic updates is both."""
    reads: dict[str, Tensor] = {}
    writes: dict[str, Tensor] = {}
    for access in traffic(launch).accesses:
        tensor = launch.tensor(access.base)
        if tensor is not None:
            if access.kind != "store":
                reads[access.base] = tensor
            if access.kind != "load":
                writes[access.base] = tensor
    return list(reads.values()), list(writes.values())


def footprints(launch: Launch) -> dict[int, float]:
    """Distinct bytes per storage that ``launch`` touches."""
    return _by_storage(launch, traffic(launch).footprints)


def _by_storage(launch: Launch, sizes: Mapping[str, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for base, size in sizes.items():
        tensor = launch.tensor(base)
        if tensor is not None:
            found[tensor.storage.id] = found.get(tensor.storage.id, 0.0) + size
    return found


def conditional(launch: Launch) -> set[int]:
    """Storages that ``launch`` comes to behind conditions on what it reads alone: perhaps none of its programs does."""
    certain: dict[str, bool] = {}
    for access in traffic(launch).accesses:
        certain[access.base] = certain.get(access.base, False) or access.certain
    bases = [launch.tensor(base) for base, sure in certain.items() if not sure]
    return {tensor.storage.id for tensor in bases if tensor is not None}


def picked(step: TorchOp) -> set[int]:
    """Storages that ``step`` reads through indices alone: these may all name one place."""
    if step.kind != "gather" or not step.writes:
        return set()
    return {tensor.storage.id for tensor in step.reads if not _is_index(step, tensor)}


def bytes_at_known_places(launch: Launch) -> dict[int, float]:
    """Distinct bytes per storage that ``launch`` reads at places that the source tells: others may all be one."""
    reads = [access for access in traffic(launch).accesses if access.kind != "store" and not access.gather]
    reads = [one for one in reads if one.access.offset is not None and one.access.offset.is_followed]
    return _by_storage(launch, distinct_bytes(reads, launch))


#: Elements of a column that a program holds beside those of its neighbours.
_FEW = 32


def form_of(op: TorchOp) -> str:
    """The form of the work of a torch call."""
    if op.kind == "matmul" or product_extents(op) is not None:
        return PRODUCT
    if op.kind in _MAPS:
        return MAP
    if op.kind == "gather":
        return LIBRARY if op.name.startswith(_SCATTERS) else MAP
    if op.kind in _ROW_KINDS:
        return ROW
    if op.kind == "reduce":
        if op.writes and op.writes[0].numel == 1 and (op.reads[0].numel or 0) > 1:
            return TOTAL
        if op.dims.get("inner", 1):
            return ROW
        # What few elements of a column come to, a program knows for each place of a block.
        together = (op.reads[0].numel or 0) / max(1, op.writes[0].numel or 1) if op.writes else math.inf
        return MAP if together <= _FEW else COLUMN
    if op.kind == "scan" and op.name in _RUNNING:
        return SCAN if op.dims.get("inner", 1) else COLUMN
    return LIBRARY


def view_bytes(tensor: Tensor) -> float:
    """Distinct bytes of memory behind a view: an axis of stride zero counts once."""
    size = float((tensor.dtype or dt.FLOAT32).bytes)
    shape = tensor.shape or ()
    strides = tensor.strides if tensor.strides is not None else (None,) * len(shape)
    for extent, stride in zip(shape, strides):
        if stride is None or concrete(stride) != 0:
            size *= max(0, concrete(extent) or 0) if concrete(extent) is not None else 1
    return size


#: Output channels of a group from which on a convolution is worth a matrix product.
_LEAST_CHANNELS = 16


def product_extents(op: TorchOp) -> tuple[int, int, int, int] | None:
    """(batch, m, n, k) of the matrix product behind ``op``; of a convolution that as an implicit product: pixels by output
    channels, summed over input channels and taps, a batch entry for each group. None where it is no product, or a poor one (a
    depthwise convolution, few channels)."""
    if op.kind == "matmul":
        batch, m, n, k = (max(1, op.dims.get(axis, 1)) for axis in ("batch", "m", "n", "k"))
        return batch, m, n, k
    if op.kind != "conv" or op.name.startswith("conv_transpose") or len(op.reads) < 2 or not op.writes:
        return None
    shapes = [[concrete(extent) for extent in t.shape or ()] for t in (op.reads[0], op.reads[1], op.writes[0])]
    if any(len(shape) < 3 or None in shape for shape in shapes):
        return None
    x, weight, out = ([int(extent or 1) for extent in shape] for shape in shapes)
    groups = max(1, x[1] // max(1, weight[1]))
    channels, depth = weight[0] // groups, math.prod(weight[1:])
    if channels < _LEAST_CHANNELS or depth < _LEAST_CHANNELS:
        return None
    return groups, out[0] * math.prod(out[2:]), channels, depth


def _plane(op: TorchOp) -> float:
    """Elements that a norm over planes reduces to one statistic: of a channel of an image, or of a group of channels."""
    shape = [concrete(extent) or 1 for extent in op.reads[0].shape or ()]
    if len(shape) < 2:
        return 1.0
    if op.name == "batch_norm":
        return float(math.prod(shape) // max(1, shape[1]))
    return float(math.prod(shape[2:]) if op.name == "instance_norm" else math.prod(shape[1:]))


def last_extent(tensor: Tensor) -> float:
    """Elements along the last axis; 1 where there is none or it is open."""
    extent = concrete(tensor.shape[-1]) if tensor.shape else None
    return float(max(1, extent)) if extent is not None else 1.0


def _read_bytes(step: TorchOp | Launch, tensor: Tensor) -> float:
    """Bytes that ``step`` reads of ``tensor``: of a table what is picked."""
    size = view_bytes(tensor)
    picks = isinstance(step, TorchOp) and step.kind == "gather" and step.writes and not step.name.startswith(_SCATTERS)
    if picks and isinstance(step, TorchOp) and not _is_index(step, tensor):
        return min(size, float(step.writes[0].numel or 1) * (tensor.dtype or dt.FLOAT32).bytes)
    return size


def _is_index(step: TorchOp, tensor: Tensor) -> bool:
    return tensor.dtype is not None and tensor.dtype.is_integer and (step.writes[0].dtype != tensor.dtype)


def source_type(graph: Graph, use: Use) -> Dtype:
    """The element type that the value behind ``use`` had before casts that lose nothing: the product of two such values is
    as exact in the narrow type's unit with wide accumulators."""
    dtype, value = use.tensor.dtype or dt.FLOAT32, use.value
    for _ in range(16):
        maker = graph.makers.get(value)
        if maker is None or not isinstance(maker.step, TorchOp) or len(maker.reads) != 1:
            break
        inner = maker.reads[0].tensor.dtype
        if inner is None or maker.step.kind not in ("cast", "copy", "transpose") or inner.bits > dtype.bits:
            break
        dtype, value = inner, maker.reads[0].value
    return dtype
