"""Python loops over time steps, found by data flow, and the kernel that could take their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.proofs.dataflow import read_tensors, storages, written_tensors
from kernlint.rules.proofs.parallel_loops import Loop as PythonLoop
from kernlint.rules.proofs.parallel_loops import flat_loop
from kernlint.workload import (
    Compute,
    Dot,
    Dtype,
    Expr,
    Launch,
    Load,
    Loop,
    Node,
    Operand,
    Repeat,
    Span,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.expr import ceildiv, lift
from kernlint.workload.synthesis import (
    arith,
    below,
    cast,
    dot,
    from_load,
    in_registers,
    iteration,
    lane,
    launch,
    new_tensor,
    pid,
    power_of_two,
)

#: Torch calls that a step of a recurrence may hold beside its launches.
_TORCH = frozenset({"alloc", "fill", "copy", "cast", "elementwise", "matmul"})
#: Columns of one dot; wider products are done in several.
_COLUMNS = 256


@dataclass(frozen=True)
class Product:
    """A matrix product of one time step: [rows, k] data times a [k, columns] ``weight``; ``k_major`` is its layout."""

    data: Tensor
    weight: Tensor
    k: int
    columns: int
    k_major: bool
    step: Step

    @property
    def weight_bytes(self) -> int:
        dtype = self.weight.dtype
        return self.k * self.columns * (dtype.bytes if dtype is not None else 2)


@dataclass(frozen=True)
class TimeLoop:
    """A Python loop whose iterations read what the one before wrote.

    ``recurrent`` are the products with that state, ``inputs`` those with what differs from step to step; ``state`` the
    tensors handed on; ``rows`` the sequences that go through it side by side.
    """

    loop: PythonLoop
    steps: int
    rows: int
    state: tuple[Tensor, ...]
    recurrent: tuple[Product, ...]
    inputs: tuple[Product, ...]

    @property
    def repeat(self) -> Repeat:
        return self.loop.repeat

    @property
    def recurrent_bytes(self) -> int:
        """The weights that the state is multiplied with."""
        return sum(product.weight_bytes for product in self.recurrent)

    def launches(self) -> list[Launch]:
        return [step for step in self.loop.body if isinstance(step, Launch)]


def time_loop(repeat: Repeat) -> TimeLoop | None:
    """``repeat`` as a recurrence with products in it; None where that is not proven or sizes are open.

    The proof: a product reads what the iteration before has written, and not what this one has written itself on its way through
    a tensor.
    """
    loop = flat_loop(repeat)
    count = concrete(repeat.count)
    if loop is None or count is None or loop.repeat.body != loop.body:
        return None
    launches = [step for step in loop.body if isinstance(step, Launch)]
    if not launches or not all(step.kernel.complete for step in launches):
        return None
    if any(not isinstance(s, Launch) and not (isinstance(s, TorchOp) and s.kind in _TORCH) for s in loop.body):
        return None
    own = {(t.storage.id, t.offset) for step in loop.body for t in written_tensors(step) if loop.stride(t)}
    read = [t for step in loop.body for t in read_tensors(step)]
    handed = (t for t in read if t.storage.id in loop.handed and (t.storage.id, t.offset) not in own)
    state = tuple(dict.fromkeys(handed))
    ids = storages(list(state))
    products = [p for step in loop.body for p in _products(step, ids)]
    recurrent = tuple(p for p in products if p.data.storage.id in ids)
    if not recurrent:
        return None
    inputs = tuple(p for p in products if p.data.storage.id not in ids and loop.stride(p.data))
    if len(recurrent) + len(inputs) != len(products):
        return None
    rows = {_rows(p) for p in (*recurrent, *inputs)}
    number = rows.pop() if len(rows) == 1 else None
    return TimeLoop(loop, count, number, state, recurrent, inputs) if number else None


def _products(step: Step, state: set[int]) -> Iterator[Product]:
    if isinstance(step, TorchOp):
        if step.kind == "matmul" and len(step.reads) >= 2:
            data, weight = step.reads[:2]
            k, n = step.dims.get("k"), step.dims.get("n")
            if k and n and step.dims.get("batch", 1) == 1:
                yield Product(data, weight, k, n, step.name == "linear", step)
        return
    if not isinstance(step, Launch):
        return
    for node, loops in step.kernel.walk(Dot):
        k = node.k
        for loop in loops:
            k *= concrete(loop.trip) or 1
        found = [_base(step, operand) for operand in (node.a, node.b)]
        if found[0] is None or found[1] is None:
            continue
        # The data operand comes from the state or has one row per sequence; the other one is the weight.
        swap = found[1].storage.id in state and found[0].storage.id not in state
        data, weight = (found[1], found[0]) if swap else (found[0], found[1])
        operand: Operand = node.a if swap else node.b
        k = _contracted(data, k, node.k)
        if weight.storage.id in state or weight.numel is None or weight.numel % k:
            continue
        yield Product(data, weight, k, weight.numel // k, operand.k_major is not False, step)


def _contracted(data: Tensor, swept: int, tile: int) -> int:
    """The extent that the product sums over: the data's last one, where the ``swept`` tiles cover it without a tile to spare."""
    extent = concrete(data.shape[-1]) if data.shape else None
    return extent if extent is not None and swept - tile < extent <= swept else swept


def _base(step: Launch, operand: Operand) -> Tensor | None:
    bases = {load.base for load in step.kernel.loads() if load.id in operand.loads}
    return step.tensor(bases.pop()) if len(bases) == 1 else None


def _rows(product: Product) -> int | None:
    numel = product.data.numel
    return numel // product.k if numel is not None and numel % product.k == 0 else None


@dataclass(frozen=True)
class PersistentRecurrence:
    """The workload with one time loop replaced by a GEMM for all input products and one kernel that keeps the state.

    ``rows`` sequences go through a program; ``tile`` is that of the GEMM.
    """

    repeat: Span
    rows: int
    num_warps: int
    tile: tuple[int, int, int, int]

    def __call__(self, workload: Workload) -> Workload:
        def change(step: Step) -> Step | tuple[Step, ...]:
            """The kernels in the place of the time loop, where it still reads as one."""
            if not isinstance(step, Repeat) or step.span != self.repeat:
                return step
            found = time_loop(step)
            return step if found is None else (*input_gemm(found, self.tile), self._persistent(found))

        return workload.mapped(change)

    def _persistent(self, found: TimeLoop) -> Launch:
        span, block = found.repeat.span, self.rows
        t = 1000
        arguments: dict[str, Tensor] = {}
        before: list[Node] = []
        body: list[Node] = []
        id = 1
        row = pid(0) * block + lane(0)
        for number, product in enumerate(found.recurrent):
            depth = max(16, power_of_two(product.k))
            for start in range(0, product.columns, _COLUMNS):
                width = max(16, power_of_two(min(_COLUMNS, product.columns - start)))
                weight = _weight_load(id, f"weight{number}", product, depth, width, lift(start), lift(0), span)
                before.append(weight)
                body.append(
                    dot(id + 1, block, width, depth, in_registers(weight.dtype, span), from_load(weight, 0, span), span)
                )
                id += 2
            arguments[f"weight{number}"] = product.weight
        for name, tensor, width in _streams(found):
            offset = (row * found.steps + iteration(t)) * width + lane(1)
            mask = below((row, found.rows))
            padded = power_of_two(width)
            body.insert(0, Load(id, name, tensor.dtype or _dtype(found), (block, padded), offset, mask, span, 0.0))
            arguments[name] = tensor
            body.append(arith(block * padded, span))
            id += 1
        body += _elementwise(found, block)
        for name, tensor, width in _outputs(found):
            offset = (row * found.steps + iteration(t)) * width + lane(1)
            shape = (block, power_of_two(width))
            body.append(Store(id, name, tensor.dtype or _dtype(found), shape, offset, below((row, found.rows)), span))
            arguments[name] = tensor
            id += 1
        nodes = (*before, Loop(t, "range", found.steps, tuple(body), span, None, True))
        grid = (ceildiv(found.rows, block),)
        return launch("recurrence", nodes, grid, arguments, span, found.repeat.function, self.num_warps)


def _weight_load(
    id: int, base: str, product: Product, depth: int, width: int, column: Expr, row: Expr, span: Span
) -> Load:
    """A [depth, width] tile of a weight, in the layout that the source has it in."""
    k, n = row + lane(0), column + lane(1)
    offset = n * product.k + k if product.k_major else k * product.columns + n
    mask = below((k, product.k), (n, product.columns))
    return Load(id, base, product.weight.dtype or _fallback(), (depth, width), offset, mask, span, 0.0)


def input_gemm(found: TimeLoop, tile: tuple[int, int, int, int]) -> tuple[Launch, ...]:
    """One launch per input product: all time steps and sequences as rows; ``tile`` is rows, columns, depth, warps."""
    m, n, k, warps = tile
    launches = []
    for product in found.inputs:
        span = found.repeat.span
        total = found.steps * found.rows
        rows, at = pid(0) * m + lane(0), iteration(1) * k
        dtype = product.data.dtype or _fallback()
        a = Load(
            2,
            "x",
            dtype,
            (m, k),
            rows * product.k + at + lane(1),
            below((rows, total), (at + lane(1), product.k)),
            span,
        )
        b = _weight_load(3, "weight", product, k, n, pid(1) * n, at, span)
        trip = ceildiv(product.k, k)
        node = dot(4, m, n, k, from_load(a, 1, span), from_load(b, 0, span), span)
        column = pid(1) * n + lane(1)
        store = Store(
            5,
            "gates",
            dtype,
            (m, n),
            rows * product.columns + column,
            below((rows, total), (column, product.columns)),
            span,
        )
        gates = _gates(found)
        body = (
            Loop(1, "range", trip, (a, b, node), span, None, True),
            arith(m * n, span),
            cast(m * n, span, dtype),
            store,
        )
        arguments = {"x": found.loop.whole(product.data), "weight": product.weight, "gates": gates}
        grid = (ceildiv(total, m), ceildiv(product.columns, n))
        launches.append(launch("input_projection", body, grid, arguments, span, found.repeat.function, warps))
    return tuple(launches)


def _gates(found: TimeLoop) -> Tensor:
    product = found.inputs[0]
    return new_tensor("gates", product.data.dtype or _fallback(), (found.rows, found.steps, product.columns))


def _streams(found: TimeLoop) -> Iterator[tuple[str, Tensor, int]]:
    """What the recurrence reads anew in each step: the input products' results, or the inputs that the kernels load."""
    if found.inputs:
        gates = _gates(found)
        for number in range(len(found.inputs)):
            yield f"gates{number}", gates, found.inputs[number].columns
        return
    state = storages(list(found.state))
    seen: set[int] = set()
    for step in found.launches():
        for tensor in read_tensors(step):
            width = _width(found, tensor)
            if tensor.storage.id not in state | found.loop.fresh | seen and found.loop.stride(tensor) and width:
                seen.add(tensor.storage.id)
                yield f"input{len(seen)}", found.loop.whole(tensor), width


def _outputs(found: TimeLoop) -> Iterator[tuple[str, Tensor, int]]:
    """What each step leaves in memory for later: the views that move with the loop, or fresh states that are kept."""
    seen: set[int] = set()
    for step in found.launches():
        for tensor in written_tensors(step):
            width = _width(found, tensor)
            if tensor.storage.id not in seen and found.loop.stride(tensor) and width:
                seen.add(tensor.storage.id)
                yield f"out{len(seen)}", found.loop.whole(tensor), width


def _width(found: TimeLoop, tensor: Tensor) -> int:
    numel = tensor.numel
    return numel // found.rows if numel is not None and numel % found.rows == 0 else 0


def _elementwise(found: TimeLoop, block: int) -> list[Node]:
    """The arithmetic of one step outside its products, for ``block`` sequences."""
    work: Counter[tuple[str, Dtype]] = Counter()
    for step in found.loop.body:
        if isinstance(step, Launch):
            for node in step.kernel.body:
                if isinstance(node, Compute):
                    work[node.kind, node.dtype] += node.elements * (step.programs or 1)
        elif isinstance(step, TorchOp) and step.kind in ("elementwise", "cast"):
            for tensor in step.writes:
                work["arith", tensor.dtype or _fallback()] += tensor.numel or 0
    span = found.repeat.span
    return [
        Compute(kind, max(1, total * block // found.rows), dtype, span) for (kind, dtype), total in work.items()
    ]  # fmt: skip


def _dtype(found: TimeLoop) -> Dtype:
    return found.recurrent[0].weight.dtype or _fallback()


def _fallback() -> Dtype:
    from kernlint.workload.dtype import FLOAT16

    return FLOAT16
