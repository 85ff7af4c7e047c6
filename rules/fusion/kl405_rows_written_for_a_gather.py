"""KL405."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.dataflow import is_alloc, storages
from kernlint.rules.proofs.liveness import uses
from kernlint.workload import (
    Access,
    Expr,
    Lane,
    Launch,
    Load,
    LoopIndex,
    Repeat,
    Span,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
)
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, Opaque, Size
from kernlint.workload.kernel import Node
from kernlint.workload.steps import map_steps
from kernlint.workload.synthesis import arith, lane, new_tensor, pid

#: At most one element in so many is picked.
_LEAST_SHARE = 8
#: Torch calls that pick one element of each row of their first argument; the losses take the mean of them.
_LOSSES = frozenset({"nll_loss"})
_PICKS = _LOSSES | {"gather", "take_along_dim"}


class RowsWrittenForAGather(Rule):
    code = "KL405"
    name = "rows-written-for-a-gather"
    category = "fusion"
    severity = "warning"
    summary = "a kernel writes whole rows of which the next step picks a few elements"
    what_it_does = """
        Finds launches that write a tensor which is read once, by a `gather`, an `nll_loss` or a kernel that loads it at
        addresses it has loaded, and of which that step picks at most one element in eight: the log-probabilities of a
        cross-entropy, above all.
        """
    why = """
        Writing the rows costs as much as reading the logits did, for one number of each row. The program that computes a row
        has that number in a register, or can compute it from one more element.
        """
    when_not = "The rows are returned, or read again, such as by a backward pass that the source does not show."
    fix_safety = "Each picked element is computed by the same operations."
    evidence = """
        H200, fp32 logits of [8192, 32000]: 515 us with the log-probabilities written and gathered from, 269 us with a loss for
        each row (`evals/2026-11-28-first/token-loss-log-probs`). Pattern row PERF-060.
        """

    bad = """
        @triton.jit
        def log_softmax(x, y, n, BLOCK: tl.constexpr):
            row, i = tl.program_id(0), tl.arange(0, BLOCK)
            v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
            v = v - tl.max(v, 0)
            tl.store(y + row * n + i, v - tl.log(tl.sum(tl.exp(v), 0)), mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, logits, labels):
                rows, n = logits.shape
                y = torch.empty_like(logits)
                log_softmax[(rows,)](logits, y, n, BLOCK=triton.next_power_of_2(n), num_warps=16)
                return -y.gather(1, labels[:, None]).mean()

        def get_inputs():
            return [torch.randn(4096, 16384), torch.randint(0, 16384, (4096,))]
        """
    good = """
        @triton.jit
        def loss(x, labels, y, n, BLOCK: tl.constexpr):
            row, i = tl.program_id(0), tl.arange(0, BLOCK)
            v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
            top = tl.max(v, 0)
            own = tl.load(x + row * n + tl.load(labels + row))
            tl.store(y + row, top + tl.log(tl.sum(tl.exp(v - top), 0)) - own)

        class ModelNew(torch.nn.Module):
            def forward(self, logits, labels):
                rows, n = logits.shape
                y = torch.empty(rows, device=logits.device)
                loss[(rows,)](logits, labels, y, n, BLOCK=triton.next_power_of_2(n), num_warps=16)
                return y.mean()

        def get_inputs():
            return [torch.randn(4096, 16384), torch.randint(0, 16384, (4096,))]
        """
    example = "log_softmax[(rows,)](logits, logp, ...)\nlogp.gather(1, labels[:, None])"
    use_instead = "loss[(rows,)](logits, labels, loss_of_row, ...)  # picks the label's element itself"

    def check(self, context: Context) -> Iterable[Finding]:
        for found in picked_rows(context.workload):
            kernel, rows = found.launch.kernel.name, tensor_name(found.rows, found.store.base)
            size = f", {found.rows.nbytes / 1e6:.1f} MB" if found.rows.nbytes else ""
            reader = found.reader.kernel.name if isinstance(found.reader, Launch) else found.reader.name
            yield self.finding(
                f"`{kernel}` writes all of `{rows}`, of which `{reader}` picks {found.count} elements",
                found.launch.span,
                found.launch.function,
                (
                    Evidence(f"`{rows}` is written whole{size}", found.store.span),
                    Evidence(f"`{reader}` reads {found.count} of {found.rows.numel} elements, and nothing else does", found.reader.span),
                ),
                Change(
                    context.variant.then(transform=PickedInKernel(found.launch.span)),
                    f"`{kernel}` sends every element of `{rows}` to memory{size}, and all but {found.count} of them are never read.",
                    f"Let `{kernel}` load the index, and store the picked elements alone.",
                    f"Pass the index and an output of {found.count} elements to `{kernel}`, compute the picked element from the input at "
                    f"that index (or keep it with a comparison of the column with the index), store it in place of the row, and drop "
                    f"`{rows}` and `{reader}` at line {found.reader.span.line}.",
                ), kernel=kernel,
            )  # fmt: skip


@dataclass(frozen=True)
class PickedRows:
    """``launch`` writes ``rows`` by ``store``; of that ``reader`` alone picks ``count`` elements, by ``index``."""

    launch: Launch
    store: Store
    rows: Tensor
    reader: Launch | TorchOp
    count: int
    index: Tensor


def picked_rows(workload: Workload) -> Iterator[PickedRows]:
    """The tensors of ``workload`` that are written whole and picked from, with the launch that writes them."""
    returned = storages(list(workload.outputs))
    for launch in workload.steps:
        if not isinstance(launch, Launch) or not launch.kernel.complete:
            continue
        for store in launch.kernel.stores():
            rows = launch.tensor(store.base)
            if rows is None or rows.storage.id in returned or rows.storage.origin != "empty" or rows.numel is None:
                continue
            found_uses = uses(workload, rows.storage.id)
            touched = [(step, loops) for step, loops in found_uses if not is_alloc(step) and step is not launch]
            if len(touched) != 1 or isinstance(touched[0][0], Repeat) or touched[0][1]:
                continue
            reader = touched[0][0]
            if any(a.base == store.base and a is not store for a, _ in launch.kernel.walk(Access)):  # type: ignore[union-attr]
                continue
            found = _picks(reader, rows)
            if found is not None and _LEAST_SHARE * found[0] <= rows.numel:
                assert isinstance(reader, (Launch, TorchOp))
                yield PickedRows(launch, store, rows, reader, *found)


def _picks(step: Step, rows: Tensor) -> tuple[int, Tensor] | None:
    """(how many elements of ``rows`` ``step`` picks, the index by which it does); None where it reads it otherwise."""
    if isinstance(step, TorchOp):
        name = step.name.rsplit(".", 1)[-1]
        if name not in _PICKS or len(step.reads) != 2 or step.reads[0].storage.id != rows.storage.id:
            return None
        by = step.reads[1]
        return (by.numel, by) if by.numel is not None else None
    # What a kernel does that was not followed may read the rest of the rows.
    if not isinstance(step, Launch) or step.programs is None or not step.kernel.complete:
        return None
    total = 0
    index: Tensor | None = None
    for access, loops in step.kernel.walk(Access):
        assert isinstance(access, Access)
        tensor = step.tensor(access.base)
        if tensor is None or tensor.storage.id != rows.storage.id:
            continue
        named = _index(step, access)
        if not isinstance(access, Load) or loops or named is None:
            return None
        index = named
        total += access.elements * step.programs
    return (total, index) if index is not None else None


def _index(launch: Launch, access: Access) -> Tensor | None:
    """The tensor of integers whose elements are in the address of ``access``."""
    for atom in access.offset.atoms() if access.offset is not None else ():
        load = launch.kernel.load(atom.key) if isinstance(atom, Opaque) and atom.op == "load" else None
        tensor = launch.tensor(load.base) if load is not None else None
        if tensor is not None and tensor.dtype is not None and tensor.dtype.is_integer:
            return tensor
    return None


@dataclass(frozen=True)
class PickedInKernel:
    """The workload with the launch at ``launch`` storing the picked elements only."""

    launch: Span

    def __call__(self, workload: Workload) -> Workload:
        found = next((one for one in picked_rows(workload) if one.launch.span == self.launch), None)
        if found is None:
            return workload
        picked = new_tensor("picked", found.rows.dtype or dt.FLOAT32, (found.count,))

        def change(step: Step) -> Step | None:
            if isinstance(step, Launch) and step.span == self.launch:
                return _picking(found, step, picked)
            if step is found.reader and isinstance(step, TorchOp):
                return _after_picking(step, picked)
            gone = (
                is_alloc(step) and isinstance(step, TorchOp) and storages(list(step.writes)) == {found.rows.storage.id}
            )
            return None if gone else step

        return replace(workload, steps=map_steps(workload.steps, change))


def _after_picking(reader: TorchOp, picked: Tensor) -> TorchOp | None:
    """What is left of ``reader`` once its elements are picked: a loss still takes their mean."""
    if reader.name.rsplit(".", 1)[-1] not in _LOSSES:
        return None
    return replace(reader, name="mean", kind="reduce", reads=(picked,), flops=picked.numel, dims={"inner": 1})


def _picking(found: PickedRows, launch: Launch, picked: Tensor) -> Launch:
    """``launch`` with what it takes to store ``picked`` in the place of the rows: the index, the inputs of the element that it
    names, and the element."""
    width = -(-found.count // (launch.programs or 1))
    shape = (width,) if width > 1 else ()
    at = pid(0) * width + (lane(0) if shape else 0)
    chosen = Expr.atom(Opaque("load", (at,), 9001))
    span, dtype = found.store.span, picked.dtype or dt.FLOAT32
    nodes: list[Node] = [Load(9001, "picked_index", found.index.dtype or dt.INT64, shape, at, None, span)]
    for load in launch.kernel.loads():
        if load.id in found.store.depends and load.offset is not None:
            moved: dict[Atom, Size] = {
                a: chosen if isinstance(a, Lane) else 0 for a in load.offset.atoms() if isinstance(a, (Lane, LoopIndex))
            }
            one = replace(load, id=9002 + load.id, shape=shape, offset=load.offset.substitute(moved), mask=None)
            nodes += [one, arith(width, span)]
    nodes.append(Store(9000, "picked", dtype, shape, at, None, span))
    changed = launch.rewritten(lambda node: None if isinstance(node, Store) and node.span == span else node)
    kernel = replace(changed.kernel, body=(*changed.kernel.body, *nodes))
    arguments = {**launch.arguments, "picked_index": found.index, "picked": picked}
    return replace(changed, kernel=kernel, arguments=arguments)
