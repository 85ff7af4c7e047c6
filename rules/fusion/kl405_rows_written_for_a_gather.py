from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.headroom.causes import Cause
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.dataflow import is_alloc, storages
from kernlint.rules.proofs.liveness import uses
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import Access, Launch, Load, Repeat, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload.expr import Opaque

#: At most one element in so many is picked.
_LEAST_SHARE = 8
#: Torch calls that pick one element of each row of their first argument.
_PICKS = frozenset({"nll_loss", "gather", "take_along_dim"})


class RowsWrittenForAGather(Rule):
    code = "KL405"
    name = "rows-written-for-a-gather"
    operator = "generate"
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
            for cause in causes_at(context, steps=(found.launch, found.reader)):
                yield self._finding(found, cause)

    def _finding(self, found: PickedRows, cause: Cause | None) -> Finding:
        kernel, rows = found.launch.kernel.name, tensor_name(found.rows, found.store.base)
        size = f", {found.rows.nbytes / 1e6:.1f} MB" if found.rows.nbytes else ""
        reader = found.reader.kernel.name if isinstance(found.reader, Launch) else found.reader.name
        return self.finding(
            f"`{kernel}` writes all of `{rows}`, of which `{reader}` picks {found.count} elements",
            found.launch.span,
            found.launch.function,
            (
                Evidence(f"`{rows}` is written whole{size}", found.store.span),
                Evidence(
                    f"`{reader}` reads {found.count} of {found.rows.numel} elements, and nothing else does",
                    found.reader.span,
                ),
            ),
            Change(
                None,
                f"`{kernel}` sends every element of `{rows}` to memory{size}, and all but {found.count} of them are never read.",
                f"Let `{kernel}` load the index, and store the picked elements alone.",
                f"Pass the index and an output of {found.count} elements to `{kernel}`, compute the picked element from the input at "
                f"that index (or keep it with a comparison of the column with the index), store it in place of the row, and drop "
                f"`{rows}` and `{reader}` at line {found.reader.span.line}.",
            ),
            cause,
            kernel=kernel,
        )


@dataclass(frozen=True)
class PickedRows:
    """``launch`` writes ``rows`` by ``store``; of that ``reader`` alone picks ``count`` elements."""

    launch: Launch
    store: Store
    rows: Tensor
    reader: Launch | TorchOp
    count: int


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
            if any(a.base == store.base and a is not store for a in launch.kernel.nodes(Access)):
                continue
            found = _picks(reader, rows)
            if found is not None and _LEAST_SHARE * found <= rows.numel:
                assert isinstance(reader, (Launch, TorchOp))
                yield PickedRows(launch, store, rows, reader, found)


def _picks(step: Step, rows: Tensor) -> int | None:
    """How many elements of ``rows`` ``step`` picks by an index; None where it reads it otherwise."""
    if isinstance(step, TorchOp):
        name = step.name.rsplit(".", 1)[-1]
        if name not in _PICKS or len(step.reads) != 2 or step.reads[0].storage.id != rows.storage.id:
            return None
        return step.reads[1].numel
    # What a kernel does that was not followed may read the rest of the rows.
    if not isinstance(step, Launch) or step.programs is None or not step.kernel.complete:
        return None
    total = 0
    for access, loops in step.walk(rows.storage.id, Access):
        if not isinstance(access, Load) or loops or not _is_indexed(step, access):
            return None
        total += access.elements * step.programs
    return total or None


def _is_indexed(launch: Launch, access: Access) -> bool:
    """Whether the address of ``access`` is made of integers that were loaded."""
    atoms = access.offset.atoms() if access.offset is not None else ()
    loads = [launch.kernel.load(atom.key) for atom in atoms if isinstance(atom, Opaque) and atom.op == "load"]
    tensors = [launch.tensor(load.base) for load in loads if load is not None]
    return any(one is not None and one.dtype is not None and one.dtype.is_integer for one in tensors)
