"""The time that physics allows: no version of the computation can be faster.

Compulsory traffic at the peak of the memory that can hold it, useful operations at the peak of the best unit whose results the
semantics allow, whichever takes longer, and one launch. Everything is counted low: an operation that a cheaper algorithm might
avoid (a convolution's products: Winograd, FFT; products that are masked) counts nothing, fp32 products count at the rate of tf32.
"""

from __future__ import annotations

import math

from kernlint.cost.device import Device
from kernlint.headroom.graph import PRODUCT, Graph, Node, source_type
from kernlint.headroom.groups import group_of
from kernlint.records import dataclass
from kernlint.workload import Dtype, TorchOp, concrete

#: No kernel was seen to take less in a replayed graph (``h100-micro.csv``, empty programs: 1.0 to 1.3 us).
LAUNCH_US = 0.8
#: Bytes that one SM can ask of L2 in a cycle.
_SM_BYTES_PER_CYCLE = 64
#: Nanoseconds of one dependent arithmetic instruction at 1.7 GHz (4 cycles).
_DEPENDENT_NS = 2.3


@dataclass(frozen=True)
class Bound:
    """Microseconds of each limit; ``us`` is the least a call can take."""

    bytes: float
    memory_us: float
    operations_us: float
    depth_us: float

    @property
    def us(self) -> float:
        return LAUNCH_US + max(self.memory_us, self.operations_us, self.depth_us)


def bound_of(graph: Graph, device: Device) -> Bound:
    """The :class:`Bound` of the computation ``graph`` on ``device``, as a warm replay: what fits L2 may stay there."""
    whole = group_of(graph, graph.nodes)
    total = sum(use.least for use in (*whole.reads, *whole.writes))
    cache = device.l2_bytes if not device.last_level_cache_mb else device.last_level_cache_mb * 2**20
    ports = device.sm_count * _SM_BYTES_PER_CYCLE * device.boost_clock_mhz * 1e6
    memory = max(total / ports, max(0.0, total - cache) / (device.memory_bandwidth_gb_per_s * 1e9)) * 1e6
    operations = sum(_operations_us(graph, node, device) * node.serial for node in graph.nodes)
    rounds = max((node.serial for node in graph.nodes), default=1.0)
    return Bound(total, memory, operations, math.log2(max(1.0, rounds)) * _DEPENDENT_NS / 1000)


def _operations_us(graph: Graph, node: Node, device: Device) -> float:
    step = node.step
    if not isinstance(step, TorchOp) or not step.flops:
        return 0.0
    if node.form == PRODUCT and step.kind == "conv" and any(concrete(e) != 1 for e in (step.reads[1].shape or ())[2:]):
        return 0.0  # Winograd and FFT need fewer
    if node.form == PRODUCT and _is_masked(graph, node):
        return 0.0
    if node.form == PRODUCT and len(node.reads) >= 2:
        types = [source_type(graph, use) for use in node.reads[:2]]
        widest = max(types, key=lambda t: (t.is_float, t.bits))
        return step.flops * node.count / (_peak(widest, device) * 1e6)
    if step.kind in ("elementwise", "reduce", "softmax", "norm") and node.elements > 1:
        wide = any(
            use.tensor.dtype is not None and use.tensor.dtype.is_float and use.tensor.dtype.bits == 64
            for use in node.writes
        )
        rate = (
            (device.peak_fp64_vector_tflops or device.peak_fp32_vector_tflops / 64)
            if wide
            else device.peak_fp32_vector_tflops
        )
        return node.elements / (rate * 1e6)
    return 0.0


#: Calls that put something else in place of elements.
_MASKS = frozenset({"masked_fill", "where", "tril", "triu"})
#: Calls one after another between a product and its mask.
_BETWEEN = 6


def _is_masked(graph: Graph, product: Node) -> bool:
    """Whether elements of what ``product`` makes, or of what it is made of, are put out by a mask: blocks of these may be left out."""
    makers = [graph.makers.get(use.value) for use in product.reads]
    before, after = [node for node in makers if node is not None], [product]
    for _ in range(_BETWEEN):
        after = [graph.nodes[i] for node in after for use in node.writes for i in graph.readers.get(use.value, ())]
        if any(node.name in _MASKS for node in (*before, *after)):
            return True
        makers = [graph.makers.get(use.value) for node in before if node.form != PRODUCT for use in node.reads]
        before = [node for node in makers if node is not None]
        after = [node for node in after if node.form != PRODUCT]
    return False


def _peak(dtype: Dtype, device: Device) -> float:
    """10^12 operations a second of the fastest unit for operands of ``dtype``."""
    half = device.peak_fp16_tensor_dense_fp32acc_tflops or device.peak_fp32_vector_tflops
    half = max(half, device.peak_fp16_tensor_dense_fp16acc_tflops or 0.0)
    if dtype.bits <= 8:
        return max(half, device.peak_int8_tensor_dense_tops or 0.0, device.peak_fp8_tensor_dense_fp32acc_tflops or 0.0)
    if dtype.bits == 16:
        return half
    if dtype.bits == 64:
        return max(device.peak_fp64_tensor_tflops or 0.0, device.peak_fp64_vector_tflops or 0.0) or half
    return max(device.peak_tf32_tensor_dense_tflops or 0.0, device.peak_fp32_vector_tflops)
