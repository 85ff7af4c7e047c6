"""Device time of the calls torch answers with its own kernels: copies, maps, reductions, cuBLAS, SDPA, cuDNN.

Kernels that move data follow one formula, with constants per case (``copy``, ``cast_widen``, ``reduce_outer`` ...):

    us = floor + (memory^p + l2^p + elements^p + rows^p + chain^p)^(1/p),  p = 4

``memory`` and ``l2`` are the bytes read and written (the passes over them counted) over the bandwidths, in a warm
graph replay; ``elements`` is the rate of kernels that cannot vectorise (a transposing copy costs about 7 ps an element
whatever the dtype: int8 at 280 GB/s); ``rows`` the rate at which one block a row is dealt out (``layer_norm``: 1 ns);
``chain`` the serial walk along one row (``cumsum``, long rows of a norm). Matrix products take the best of cuBLAS's
tile shapes and splits of k on the SMs there are. Constants and residuals: ``data/torch_ops.json``, written by
``calibration/fit_torch_ops.py`` from ``h100-torch-ops.csv`` (``gpu_us``).

fp32 products run on the FMA units, as torch does by default (``allow_tf32`` is off, and the facts show 49 TFLOP/s);
the 370 TFLOP/s of ``h100-overheads.json`` was timed with TF32 on. An op whose ``dims`` hold ``tf32: 1`` is priced so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from kernlint.cost import deterministic
from kernlint.cost.convolutions import Convolution, convolution_of, floor_us, terms_of, together
from kernlint.cost.convolutions import rates as convolution_rates
from kernlint.cost.device import Device, find_device
from kernlint.cost.dot_lowering import memory_class
from kernlint.cost.dot_lowering import peak as peak_of
from kernlint.cost.fitted import fitted
from kernlint.cost.programs.scale import ramp, widen
from kernlint.cost.result import KernelTime
from kernlint.records import dataclass, replace
from kernlint.workload import Tensor, TorchOp, concrete

_NORM = 4.0

#: Elements up to which torch reduces a whole tensor with one kernel.
_ONE_STAGE_ELEMENTS = 32768
#: What a block of torch's gather of whole slices copies: 256 threads, 16 bytes each (``vectorized_gather_kernel`` of ATen).
_BLOCK_BYTES = 4096
#: Columns up to which torch keeps a softmax row in registers (``softmax_warp_forward`` of ATen).
_SHORT_ROW = 1024
#: Tiles cuBLAS picks from and the share of the large tile's rate a smaller one reaches.
_TILES = ((128, 256, 1.0), (128, 128, 0.92), (64, 128, 0.72), (64, 64, 0.5), (128, 32, 0.6), (32, 128, 0.6))
_SPLITS = (1, 2, 4, 8, 16, 32, 64)
#: Elements that rows of halves are to be multiples of, for cuBLAS to copy them 16 bytes at a time.
_ALIGNED = 8
#: The widest head that flash attention takes, and queries of a block.
_WIDEST_HEAD, _QUERIES = 256, 64
#: Ops priced by the constants of a measured relative, and how much more sigma that takes (judged, not measured).
_RELATIVES: Mapping[str, float] = {
    "normalize": 0.5, "cummax": 0.3, "cummin": 0.3, "argsort": 0.3,
}  # fmt: skip
#: Reductions that torch makes in several kernels or in two passes, and ops of one kind with kernels of their own.
_SPECIAL: Mapping[str, str] = {
    "logsumexp": "logsumexp", "var": "reduce_var", "std": "reduce_var", "var_mean": "reduce_var",
    "std_mean": "reduce_var", "amax": "reduce_extreme", "amin": "reduce_extreme", "sort": "sort", "argsort": "sort",
    "topk": "topk", "flip": "flip", "rms_norm": "norm_rms", "index_add_": "scatter_rows", "index_copy_": "scatter_rows",
    "one_hot": "fill", "scatter_add_": "scatter_rows", "scatter_": "scatter_rows", "index_fill_": "scatter_rows",
    "roll": "roll", "unfold": "unfold", "batch_norm": "norm_planes", "instance_norm": "norm_planes", "group_norm": "norm_planes",
}  # fmt: skip
#: Losses of several tensors, which torch makes in as many kernels, one element after the other, and then sums up what it wrote (ATen's
#: ``Loss.cpp``; a triplet's are two distances of a difference, an epsilon and a norm each).
_LOSSES: Mapping[str, int] = {
    "mse_loss": 2, "smooth_l1_loss": 2, "huber_loss": 2, "l1_loss": 3, "kl_div": 4, "triplet_margin_loss": 6,
}  # fmt: skip
#: Row bytes up to which torch keeps a softmax row in shared memory, and blocks that an SM holds of longer ones, which are read three
#: times (``cunn_SoftMaxForward`` of ATen).
_STAGED_ROW, _ROWS_ON_AN_SM, _ROW_READS = 48 << 10, 2, 3
#: Bytes of a place that pooling for the largest writes beside each value, and elements of a window that it takes as long to find it as.
_PLACE_BYTES, _PLACED = 8, 8
#: Bytes of a sector; how often memory moves one that is written in parts, for each part: of contiguous tensors (``cat_last``,
#: ``stack_last``) and of others (``cat_slices``, ``cat_patches``).
_SECTOR, _PARTLY, _PARTLY_STRIDED = 32, 4.8, 2.8
#: Bytes that torch's gather of whole slices copies at a time; shorter ones are picked element by element (``embedding``).
_SLICE_BYTES = 16
#: Bytes that memory moves for an element at random.
_PICKED_BYTES = 64
#: Threads of an SM that sums along the first axis are dealt out to, where there are fewer results.
_SUMMING = 1024


@dataclass(frozen=True)
class Case:
    """Constants of one case of data movement; see the module's formula."""

    floor_us: float
    element_ps: float = 0.0
    row_ns: float = 0.0
    chain_ns: float = 0.0
    passes: float = 1.0
    l2_share: float = 1.0
    sigma: float = 0.2


@dataclass(frozen=True)
class Constants:
    cases: Mapping[str, Case]
    rates: Mapping[str, float]
    sigmas: Mapping[str, float]


@lru_cache(maxsize=1)
def _data() -> Constants:
    return parse(fitted("torch_ops"))


def parse(data: Mapping[str, Mapping[str, object]]) -> Constants:
    """The constants in ``data``, the content of ``torch_ops.json``."""
    cases = {name: Case(**entry) for name, entry in data["cases"].items()}  # type: ignore[arg-type]
    return Constants(cases, dict(data["rates"]), dict(data["sigmas"]))  # type: ignore[arg-type]


def torch_op_time(
    op: TorchOp, device: Device, constants: Constants | None = None, reuse_bytes: Mapping[int, float] | None = None
) -> KernelTime:
    """Predicted :class:`KernelTime` of ``op`` in a warm graph replay.

    Sizes that are not known count as one element and widen sigma; ``constants`` is for the fitting script.
    ``reuse_bytes`` tells for each storage id how many bytes the device touches from its last use to the end of this
    op; without it the op is taken to be replayed alone.
    """
    c = _data() if constants is None else constants
    reuse = reuse_bytes or {}
    if op.dims.get("deterministic"):
        return _in_turn([torch_op_time(step, device, c, reuse) for step in deterministic.steps_of(op)])
    if op.kind == "alloc":
        return KernelTime(0.0, widen(0.05, device), "launch", {})
    if op.kind == "matmul":
        return _matmul(op, device, c, reuse)
    if op.kind == "conv":
        return _convolution(op, device)
    if op.kind in ("attention", "rnn"):
        return _library(op, device, c, reuse)
    return _movement(op, device, c, reuse)


def _in_turn(times: Sequence[KernelTime]) -> KernelTime:
    """Kernels one after the other, as sure as the longest of them is."""
    longest = max(times, key=lambda time: time.us)
    return replace(longest, us=sum(time.us for time in times))


def case_of(op: TorchOp) -> str:
    """The case of data movement that ``op`` belongs to."""
    read = op.reads[0] if op.reads else None
    written = op.writes[0] if op.writes else None
    whole = written is not None and written.numel == 1
    if op.name in _LOSSES and len(op.reads) > 1:
        return "loss"
    if "_pool" in op.name:
        return "pool"
    if op.name in _SPECIAL and not whole and (op.kind, op.name) != ("elementwise", "batch_norm"):
        return _SPECIAL[op.name]
    if op.kind == "scan" and op.dims.get("inner", 1) == 0:
        return "scan_outer"
    if op.kind == "cast":
        widening = _bits(read) < _bits(written)
        return "cast_widen" if widening else "elementwise"
    if op.kind == "elementwise":
        return "elementwise_indexed" if _needs_indexing(op) else "elementwise"
    if op.kind == "reduce":
        if not whole and (len(op.writes) > 1 or op.name.startswith("arg")):
            return "reduce_index"
        if written is not None and written.numel == 1:
            return "reduce_all" if (read is not None and (read.numel or 0) > _ONE_STAGE_ELEMENTS) else "reduce_inner"
        return "reduce_inner" if op.dims.get("inner", 1) else "reduce_outer"
    if op.kind == "softmax":
        return "softmax_short" if _last(read) <= _SHORT_ROW else "softmax_long"
    if op.kind in ("copy", "transpose") and read is not None and read.is_contiguous is False:
        # A view whose rows stay whole (a permute that keeps the last axis, a slice) is read coalesced but indexed.
        return "elementwise_indexed" if _rows_whole(read) else "transpose"
    if op.kind == "cat" and any(tensor.is_contiguous is False for tensor in op.reads):
        return "cat_strided"
    if op.kind == "gather" and op.writes and _picked(op) * _bits(written) / 8 < _SLICE_BYTES:
        return "pick"
    if op.kind in ("copy", "transpose", "fill", "norm", "scan", "gather", "cat", "random"):
        return op.kind
    return "unknown"


def _movement(op: TorchOp, device: Device, c: Constants, reuse: Mapping[int, float]) -> KernelTime:
    name = case_of(op)
    case = c.cases[name]
    known = all(tensor.nbytes is not None for tensor in (*op.reads, *op.writes)) and bool(op.writes or op.reads)
    read = sum(_bytes(tensor) for tensor in op.reads)
    written = sum(_bytes(tensor) for tensor in op.writes)
    elements = max([_numel(tensor) for tensor in (*op.writes, *op.reads)], default=1.0)
    launches = op.dims.get("launches", 1)
    again = 0.0
    if name == "scatter_rows":
        # What is added is read, and as much of the target read and written.
        target = {tensor.storage.id for tensor in op.writes} if op.name != "index_fill_" else set()
        added = [tensor for tensor in op.reads if tensor.storage.id not in target]
        source = max(added, key=_numel, default=None)
        elements = _numel(source) if source is not None else 1.0
        written = elements * _bits(op.writes[0] if op.writes else source) / 8
        read = sum(_bytes(tensor) for tensor in added) + written
    elif op.kind == "gather" and op.writes:
        # Only the gathered rows of the table are read: of a bag several for each of its results.
        elements = _numel(op.writes[0]) * op.dims.get("each", 1)
        indices = sum(_bytes(t) for t in op.reads if t.dtype is not None and t.dtype.is_integer)
        read = min(read, written * op.dims.get("each", 1) + indices)
    elif op.name == "masked_fill":
        # ATen clones the tensor and fills the copy in place: another kernel, which reads and writes the result again.
        read, written, launches = read + written, 2 * written, launches + 1
    elif op.kind == "cat":
        # Of parts that a loop collected only a few are listed; all that is written is read.
        read = max(read, written)
        parts = _parts_of_sector(op)
        again = written * (parts * (_PARTLY if name == "cat" else _PARTLY_STRIDED) - 1) if parts > 1 else 0.0
        if name == "cat_strided":  # an index for each axis
            elements *= len(op.writes[0].shape or (1,)) if op.writes else 1
    elif name == "loss":
        # The first reads two tensors, each other what was written before it, and all but the last write one.
        launches, each = _LOSSES[op.name], read / len(op.reads)
        read, written = each * (launches + 1), each * (launches - 1)
    elif op.dims.get("tried"):
        elements = _numel(op.writes[0]) * op.dims["tried"]
    elif name == "pool":
        outputs = _numel(op.writes[0]) if op.writes else 1.0
        elements = _dealt(op) * (op.dims.get("taps", max(1.0, elements / max(1.0, outputs))) + _PLACED)
        written += _PLACE_BYTES * outputs if "max" in op.name else 0.0
    if name == "pick" and read > 0:
        table = _bytes(op.reads[0])
        beyond = ramp(table, c.rates["l2_keeps"] * _Speed(device).cache, c.rates["l2_drops"] * _Speed(device).cache)
        read += beyond * elements * _PICKED_BYTES
    by_writes = op.kind == "gather" and op.writes
    width = _picked(op) if by_writes else _last(op.reads[0] if op.reads else None)
    if op.kind == "norm" and op.reads:
        # A row is all that is normalised together, which the weights are as large as: one block walks along it.
        width = max([width, *(_numel(tensor) for tensor in op.reads[1:])])
    if name == "norm_planes":
        # What is normalised together, by one block.
        width = elements / max(1.0, _groups(op))
    rows = elements / max(1.0, width)
    speed = _Speed(device)
    cold = _cold(op, read + written, c, speed, reuse)
    passes = case.passes
    far = bytes_moved = read * passes + written + again
    if name == "softmax_long" and width * _bits(op.reads[0] if op.reads else None) / 8 > _STAGED_ROW:
        # The rows that are under way come round again, from memory where the L2 does not hold them.
        held = min(rows, _ROWS_ON_AN_SM * device.sm_count) * read / max(1.0, rows)
        missed = ramp(held, c.rates["l2_keeps"] * speed.cache, c.rates["l2_drops"] * speed.cache)
        bytes_moved = read * _ROW_READS + written
        far = read * (1 + (_ROW_READS - 1) * missed) + written
    memory = device.memory_bandwidth_gb_per_s * c.rates["dram_efficiency"] / device.factor("memory")
    terms = {
        "memory": cold * far / memory / 1000,
        "l2": bytes_moved / (c.rates["l2_gb_per_s"] * case.l2_share * speed.fabric) / 1000,
        "elements": elements * case.element_ps / 1e6 / speed.fabric,
        "rows": rows * case.row_ns / 1000 / speed.fabric,
        "chain": _chain(name, elements, width, op, device) * case.chain_ns / 1000 / speed.clock,
    }
    us = case.floor_us * launches + sum(value**_NORM for value in terms.values()) ** (1 / _NORM)
    bound = max(terms, key=lambda term: terms[term])
    bound = "launch" if case.floor_us > terms[bound] else bound
    sigma = widen(case.sigma, device, 0.0 if known else 1.0, _RELATIVES.get(op.name, 0.0))
    name_of = {"elements": "issue", "rows": "issue", "chain": "latency"}
    return KernelTime(us, sigma, name_of.get(bound, bound), {"floor": case.floor_us, **terms})


def _picked(op: TorchOp) -> float:
    """Elements that a block of a gather copies: a row of the result, or of what one index picks as much as a block takes."""
    run = op.dims.get("run")
    return float(max(1, min(run, _BLOCK_BYTES * 8 // _bits(op.writes[0])))) if run else _last(op.writes[0])


def _parts_of_sector(op: TorchOp) -> float:
    """Tensors whose elements share a sector of the result of putting them side by side: each writes it in a pass of its own."""
    if not op.writes or not op.reads:
        return 1.0
    out = [concrete(extent) or 1 for extent in op.writes[0].shape or ()]
    part = [concrete(extent) or 1 for extent in op.reads[0].shape or ()]
    axis = next((i for i, (a, b) in enumerate(zip(part, out)) if a != b), len(part))
    if axis == 0:
        return 1.0  # one behind the other
    parts = max(1.0, _numel(op.writes[0]) * len(op.reads) / max(1.0, sum(map(_numel, op.reads))))
    run = max(1.0, math.prod(out[axis:]) / parts) * _bits(op.writes[0]) / 8
    return max(1.0, min(parts, _SECTOR / run))


def _dealt(op: TorchOp) -> float:
    """Places of the result of a pool that threads are dealt out to: in three dimensions by planes of 32 x 8."""
    if not op.writes:
        return 1.0
    extents = [concrete(extent) or 1 for extent in op.writes[0].shape or ()]
    if "3d" not in op.name or len(extents) < 3:
        return _numel(op.writes[0])
    return float(math.prod(extents[:-2]) * (-(-extents[-2] // 8) * 8) * (-(-extents[-1] // 32) * 32))


def _groups(op: TorchOp) -> float:
    """How many parts of a tensor [N, C, ...] are normalised each for itself."""
    extents = [concrete(extent) or 1 for extent in (op.reads[0].shape or () if op.reads else ())][:2]
    if op.name == "batch_norm":
        return float(math.prod(extents[1:]))
    return (
        float(math.prod(extents) if op.name == "instance_norm" else extents[0] * op.dims.get("groups", 1))
        if extents
        else 1.0
    )


def _chain(case: str, elements: float, width: float, op: TorchOp, device: Device) -> float:
    """Dependent steps of one block: elements along a row, along the reduced axis, or rounds of a scan."""
    if case == "unfold":
        # im2col's thread loads and stores tap by tap, in a launch for each image (ATen/native/cuda/im2col.cuh).
        return float(op.dims.get("launches", 1) * op.dims.get("taps", 1))
    if case == "reduce_outer":
        outputs = _numel(op.writes[0]) if op.writes else 1.0
        return elements / max(1.0, outputs, _SUMMING * device.sm_count)
    if case == "norm_planes":
        return width * max(1.0, elements / width / device.sm_count)
    if case == "scan_outer":
        # A thread walks down its column.
        return elements / max(1.0, width)
    if case == "scan":
        # ATen's scan_innermost_dim: 2^x threads a row, x between 4 and 9 by the ratio of columns to rows, and each
        # round scans two elements a thread (aten/src/ATen/native/cuda/ScanUtils.cuh).
        rows = max(1.0, elements / width)
        log_threads = min(9, max(4, int((9 + math.log2(width) - math.log2(rows)) // 2)))
        return math.ceil(width / 2 ** (log_threads + 1))
    return width


def _matmul(op: TorchOp, device: Device, c: Constants, reuse: Mapping[int, float]) -> KernelTime:
    known = all(key in op.dims for key in ("batch", "m", "n", "k"))
    batch, m, n, k = (max(0, op.dims.get(key, 1)) for key in ("batch", "m", "n", "k"))
    if not known and op.flops:
        m = n = k = max(1, round((op.flops / 2) ** (1 / 3)))
    path = _path(op)
    peak = _peak(path, device) * c.rates[f"{path}_efficiency"]
    if path == "float16" and (n % _ALIGNED or k % _ALIGNED):
        peak *= c.rates["unaligned_share"]
    bytes_moved = sum(_bytes(tensor) for tensor in (*op.reads, *op.writes))
    speed = _Speed(device)
    best = math.inf
    for tile_m, tile_n, share in _TILES:
        tiles = batch * math.ceil(m / tile_m) * math.ceil(n / tile_n)
        for split in _SPLITS:
            if split > 1 and k / split < 256:
                break
            units = tiles * split
            waves = units / device.sm_count
            # A part wave costs nearly a whole one at the start and less as waves add up (stream-K, uneven ends).
            rounds = math.ceil(waves) if waves <= 1 else waves + (math.ceil(waves) - waves) * 0.6
            rate = peak * share / device.sm_count * 1e6
            depth = k / split
            us = rounds * 2 * tile_m * tile_n * depth / rate
            us += depth * c.rates["k_step_ns"] / 1000 / speed.clock
            if split > 1:
                us += c.rates["split_us"]
            best = min(best, us)
    if min(m, n) <= 1:
        # A matrix-vector product: cuBLAS has kernels of its own for it, bound by the matrix.
        best = 2.0 * batch * m * n * k / (device.peak_fp32_vector_tflops * 0.5) / 1e6
    cold = _cold(op, bytes_moved, c, speed, reuse)
    small = min(m, n) <= 32
    l2_rate = c.rates["skinny_l2_gb_per_s" if small else "l2_gb_per_s"]
    terms = {
        "tensor": best,
        "memory": cold * bytes_moved / (device.memory_bandwidth_gb_per_s * c.rates["dram_efficiency"]) / 1000,
        "l2": bytes_moved / (l2_rate * speed.fabric) / 1000,
    }
    us = c.rates["matmul_floor_us"] + sum(value**_NORM for value in terms.values()) ** (1 / _NORM)
    sigma = widen(c.sigmas["matmul"], device, 0.0 if known else 0.7)
    bound = max(terms, key=lambda term: terms[term])
    return KernelTime(us, sigma, bound, {"floor": c.rates["matmul_floor_us"], **terms})


def _library(op: TorchOp, device: Device, c: Constants, reuse: Mapping[int, float]) -> KernelTime:
    """Attention, recurrent nets: floating-point work at the library's measured share of the peak."""
    dtype = op.reads[0].dtype if op.reads else None
    flops = op.flops
    known = flops is not None
    bytes_moved = sum(_bytes(tensor) for tensor in (*op.reads, *op.writes))
    share = c.rates[f"{op.kind}_{'half' if dtype is not None and dtype.bits <= 16 else 'single'}_efficiency"]
    floor = c.rates[f"{op.kind}_floor_us"]
    if op.kind == "rnn":
        floor += op.dims.get("steps", 0) * c.rates["rnn_gate_us"]  # one step waits for the one before
    if op.kind == "attention":
        if op.dims.get("causal"):
            share *= c.rates["attention_causal_share"]
        head = max(1, op.dims.get("k", 128))
        share *= min(1.0, head / 128) ** c.rates["attention_head_exponent"]
        blocks = op.dims.get("batch", device.sm_count) * math.ceil(op.dims.get("m", _QUERIES) / _QUERIES)
        share *= min(1.0, blocks / device.sm_count)
        if head > _WIDEST_HEAD and dtype is not None and dtype.bits <= 16:
            share *= c.rates["attention_wide_share"]
    speed = _Speed(device)
    cold = _cold(op, bytes_moved, c, speed, reuse)
    terms = {
        "tensor": (flops or 0) / (_peak(_path(op), device) * share * 1e6),
        "memory": cold * bytes_moved / (device.memory_bandwidth_gb_per_s * c.rates["dram_efficiency"]) / 1000,
        "l2": bytes_moved / (c.rates["l2_gb_per_s"] * speed.fabric) / 1000,
    }
    us = floor + sum(value**_NORM for value in terms.values()) ** (1 / _NORM)
    bound = max(terms, key=lambda term: terms[term])
    return KernelTime(us, widen(c.sigmas[op.kind], device, 0.0 if known else 1.0), bound, {"floor": floor, **terms})


def _convolution(op: TorchOp, device: Device) -> KernelTime:
    """cuDNN's convolutions, which take tf32 for float32 unless told otherwise."""
    one = convolution_of(op)
    constants, sigma = convolution_rates()
    path = _path(op)
    peak = _peak("tf32" if path == "float32" else path, device)
    moved = float(sum(_bytes(tensor) for tensor in (*op.reads, *op.writes)))
    shape = one or Convolution(2, False, 64, 64, 1, 9, False, False, path == "float16")
    card = device.peak_fp32_vector_tflops, device.memory_bandwidth_gb_per_s
    terms = terms_of(shape, float(op.flops or 0), moved, peak, *card, constants, _Speed(device).fabric)
    floor = floor_us(shape, constants)
    bound = max(terms, key=lambda term: terms[term]).replace("layout", "memory")
    sigma = widen(sigma, device, 0.0 if one is not None and op.flops is not None else 1.0)
    return KernelTime(together(floor, terms), sigma, bound, {"floor": floor, **terms})


def _cold(op: TorchOp, own: float, c: Constants, speed: _Speed, reuse: Mapping[int, float]) -> float:
    """Share of the op's bytes that L2 no longer holds."""
    total = missed = 0.0
    for tensor in (*op.reads, *op.writes):
        size = _bytes(tensor)
        distance = max(own, reuse.get(tensor.storage.id, 0.0))
        total += size
        missed += size * ramp(distance, c.rates["l2_keeps"] * speed.cache, c.rates["l2_drops"] * speed.cache)
    return missed / total if total else 0.0


class _Speed:
    """Ratios to the H100 that the constants come from."""

    def __init__(self, device: Device) -> None:
        base = find_device("h100-sxm")
        self.clock = device.boost_clock_mhz / base.boost_clock_mhz
        self.fabric = self.clock * device.sm_count / base.sm_count
        self.cache = device.last_level_cache_mb * 2**20 if device.last_level_cache_mb else device.l2_bytes


def _path(op: TorchOp) -> str:
    """The unit a product runs on: float16 (bfloat16 alike), int8, fp8, tf32, float32 or float64."""
    dtype = op.reads[0].dtype if op.reads else None
    if dtype is not None and dtype.is_float and dtype.bits == 64:
        return "float64"
    unit = "float32" if dtype is None else memory_class(dtype)
    return "tf32" if unit == "float32" and op.dims.get("tf32") else unit


def _peak(path: str, device: Device) -> float:
    """Dense peak in 10^12 operations per second; a path the device lacks falls to the next wider one."""
    fp32 = device.peak_fp32_vector_tflops
    if path == "float64":
        return device.peak_fp64_tensor_tflops or device.peak_fp64_vector_tflops or fp32 / 32
    wider = peak_of("float16", device) if path in ("int8", "fp8") else None
    return peak_of(path, device) or wider or fp32


def _rows_whole(tensor: Tensor) -> bool:
    """The last dimension (of more than one element) is contiguous for at least a sector of 32 bytes."""
    if not tensor.shape or not tensor.strides:
        return False
    for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides)):
        size = concrete(extent)
        if size != 1:
            return concrete(stride) == 1 and (size or 0) * _bits(tensor) >= 256
    return True


def _needs_indexing(op: TorchOp) -> bool:
    """An operand is broadcast or not contiguous: torch then computes an index per element and does not vectorise."""
    if not op.writes or op.writes[0].shape is None:
        return False
    out = op.writes[0]
    for tensor in op.reads:
        if tensor.shape is None or tensor.numel == 1:
            continue
        if tensor.numel != out.numel or tensor.is_contiguous is False:
            return True
    return False


def _bits(tensor: Tensor | None) -> int:
    return tensor.dtype.bits if tensor is not None and tensor.dtype is not None else 32


def _numel(tensor: Tensor) -> float:
    return float(max(0, tensor.numel if tensor.numel is not None else 1))


def _bytes(tensor: Tensor) -> float:
    return _numel(tensor) * (tensor.dtype.bytes if tensor.dtype is not None else 4)


def _last(tensor: Tensor | None) -> float:
    """Extent of the last dimension; 1 where there is none or it is not known."""
    if tensor is None or not tensor.shape:
        return 1.0
    extent = concrete(tensor.shape[-1])
    return float(max(1, extent)) if extent is not None else 1.0
