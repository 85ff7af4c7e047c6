"""Matrix products as well-written launches: tiles with a pipelined loop over K, what stands before and behind them in the same kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernlint.cost.device import Device
from kernlint.headroom.graph import PRODUCT, ROW, Graph, Node, Use, product_extents, source_type
from kernlint.headroom.groups import Group
from kernlint.headroom.streams import Version, one_pass, second_pass, work_of
from kernlint.records import replace
from kernlint.workload import Compute, Dtype, Expr, Launch, Load, Loop, Operand, Span, Store, Tensor, TorchOp, concrete
from kernlint.workload import Node as KernelNode
from kernlint.workload import dtype as dt
from kernlint.workload.expr import floordiv, mod
from kernlint.workload.synthesis import below, dot, iteration, lane, launch, pid, power_of_two

_TILES = ((16, 64), (16, 128), (32, 64), (32, 128), (64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))
_SPLITS = (1, 2, 4, 8, 16)
#: Rows of the output that one group of programs walks together, so that they share operands in L2.
_GROUP_ROWS = 8


def products(graph: Graph, group: Group, device: Device, precise: bool) -> Iterator[Version]:
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
                yield (made, second_pass(group)), "tiled product, K split"
            else:
                yield (made,), "tiled product"


def _stream_product(group: Group, batch: int, m: int, n: int, k: int) -> Iterator[Version]:
    total = float(batch * max(m, n) * k)
    nodes = tuple(
        replace(node, elements=min(node.elements, total), form=ROW if node.form == PRODUCT else node.form)
        for node in group.nodes
    )
    wide = replace(group, nodes=nodes)
    for block in (1024, 2048, 4096, 8192):
        yield (one_pass(wide, total / block, (block,)),), "rows of the matrix"


def _flash(group: Group) -> TorchOp:
    first, second = group.products
    made = {use.value for node in group.nodes for use in node.writes}
    reads = tuple(use.tensor for node in (first, second) for use in node.reads if use.value not in made)
    extra = tuple(use.tensor for use in group.reads if use.tensor not in reads)
    step = first.step
    assert isinstance(step, TorchOp) and isinstance(second.step, TorchOp)
    flops = round((step.flops or 0) * first.count + (second.step.flops or 0) * second.count)
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
    span, function = group.place
    batch, m, n, k = extents
    tile_m, tile_n = tile
    # A product of a tensor with itself, as of `einsum` with one operand, reads it alone.
    left, right = node.reads[0], node.reads[min(1, len(node.reads) - 1)]
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
    loop = Loop(1, "range", math.ceil(deep / tile_k), (*inner, product), span, None, tile_m * tile_n)
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
            after += work_of(
                replace(other, elements=float(size)),
                _of_elements(group, float(block)),
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


def _of_elements(group: Group, elements: float) -> Group:
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
