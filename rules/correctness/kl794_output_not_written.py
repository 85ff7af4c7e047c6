from __future__ import annotations

from collections.abc import Iterable
from math import prod

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.provenance import is_followed
from kernlint.rules.finding import Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.dataflow import storages, written_tensors
from kernlint.workload import Atomic, Launch, Repeat, Step, Store, Tensor, TorchOp, Workload, concrete


class OutputNotWritten(Rule):
    code = "KL794"
    name = "output-not-written"
    severity = "error"
    at_any_size = True
    summary = "a returned torch.empty tensor has more elements than all stores of the call can write"
    what_it_does = """
        For every tensor from `torch.empty` (or `empty_like`, `new_empty`) that the call returns, counts what the stores of all
        launches could write at most: programs times loop iterations times tile elements. Finds the tensors that have more
        elements than that; none at all is the plainest case.
        """
    why = """
        The rest holds whatever the caching allocator kept there: often the right answer of an earlier call, so that a test that
        runs the reference first passes.
        """
    when_not = "Buffers that are not part of the result. Calls with a step that was not followed, or with open sizes."
    fix_safety = "No automatic fix: the grid or the loop is wrong, and only its author knows which."
    evidence = "A count, not a measurement. Pattern row BUG-018 is the case of a literal grid."

    bad = """
        @triton.jit
        def double(x, y, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i) * 2.0)
        """
    launch = "double[(64,)](x, y, BLOCK=1024)"
    good_launch = "double[(1024,)](x, y, BLOCK=1024)"
    inputs = "torch.randn(1024, 1024)"
    example = "double[(64,)](x, y, BLOCK=1024)  # 65536 of 1048576 elements"
    use_instead = "double[(triton.cdiv(x.numel(), 1024),)](x, y, BLOCK=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        workload = context.workload
        if not is_followed(workload):
            return
        seen = set()
        for output in workload.outputs:
            storage, count = output.storage, output.numel
            if storage.origin != "empty" or storage.id in seen or count is None or storage.span is None:
                continue
            seen.add(storage.id)
            written = _at_most_written(workload, storage.id)
            if written is not None and written.least < count:
                yield self._finding(workload, output, written, count)

    def _finding(self, workload: Workload, output: Tensor, written: _Written, count: int) -> Finding:
        name = tensor_name(output, "the result")
        assert output.storage.span is not None
        writers = [launch for launch in workload.launches() if launch.accesses(output.storage.id, (Store, Atomic))]
        what = f"at most {written.least} of its {count} elements" if written.least else "none of it"
        always = written.most < count
        when = "" if always else " under some configurations of its autotuner"
        return self.finding(
            f"`{workload.entry}` returns `{name}` with memory that was never written: the stores reach {what}{when}",
            output.storage.span,
            workload.entry,
            tuple(
                Evidence(f"`{launch.kernel.name}` runs {launch.programs} programs", launch.span)
                for launch in writers[:3]
            ),
            kernel=writers[0].kernel.name if writers else "",
            severity=self.severity if always else "warning",
        )


@dataclass(frozen=True)
class _Written:
    """Upper bounds of the elements that are written, under the autotune configuration that writes ``least`` and the one
    that writes ``most``."""

    least: int
    most: int


def _at_most_written(workload: Workload, storage: int) -> _Written | None:
    """What the call writes of ``storage`` at most; None where a count is open."""
    least = most = 0
    for step, loops in workload.walk():
        configurations = [step, *step.alternatives] if isinstance(step, Launch) else [step]
        counts = [_by_step(configuration, storage) for configuration in configurations]
        times = [concrete(loop.count) for loop in loops]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts) or (any(known) and None in times):
            return None
        turns = prod(time or 0 for time in times)
        least += min(known) * turns
        most += max(known) * turns
    return _Written(least, most)


def _by_step(step: Step, storage: int) -> int | None:
    """Elements of ``storage`` that one run of ``step`` writes at most."""
    if isinstance(step, Repeat) or storage not in storages(written_tensors(step)):
        return 0
    if isinstance(step, TorchOp):
        if step.kind == "alloc":
            return 0
        counts = [tensor.numel for tensor in step.writes if tensor.storage.id == storage]
        return None if None in counts else sum(count or 0 for count in counts)
    if not isinstance(step, Launch) or step.programs is None:
        return None
    total = 0
    for node, loops in step.walk(storage, (Store, Atomic)):
        trips = [concrete(loop.trip) for loop in loops]
        # A tile with an impossible extent is another rule's to report.
        if None in trips or any(extent < 1 for extent in node.shape):
            return None
        total += node.elements * prod(trip or 0 for trip in trips) * step.programs
    return total
