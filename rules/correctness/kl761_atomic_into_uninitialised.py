from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import is_hooked, partners, written_before
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.bounds import followed
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Span, Tensor
from kernlint.workload.access import Atomic, Store


@dataclass(frozen=True)
class Initialised(Repair):
    """The program whose buffer, allocated at ``place``, has the contents that atomic ``operation`` starts from."""

    place: Span
    operation: str
    is_float: bool


class AtomicIntoUninitialised(Rule):
    code = "KL761"
    name = "atomic-into-uninitialised"
    severity = "error"
    at_any_size = True
    summary = "atomics accumulate into a buffer that nothing has initialised"
    what_it_does = """
        Finds launches that pass a tensor of `torch.empty`, `empty_like` or `new_empty`, which no step before writes,
        for a parameter that the kernel only updates with atomics.
        """
    why = """
        The sum starts from whatever the allocator left there. Fresh memory is often zero, so that small tests pass.
        """
    when_not = "Buffers zeroed by a hook of the autotuner. Kernels that store to the buffer before they add."
    fix_safety = """
        Safe: the buffer is allocated with zeros; with an infinity for a maximum or minimum where `torch.empty_like`
        makes it.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-033. No gain: wrong results
        have no speed.
        """
    references = (
        "https://github.com/ByteDance-Seed/Triton-distributed/issues/182",
        "https://github.com/triton-lang/triton/issues/2183",
        "https://github.com/triton-lang/triton/issues/8089",
    )

    bad = """
        @triton.jit
        def k(x, y, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.atomic_add(y, tl.sum(tl.load(x + a, mask=a < n, other=0.0), axis=0))
        def run(x):
            y = torch.empty(1)
            k[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), B=16)
            return y
        """
    good = bad.replace("torch.empty", "torch.zeros")

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            if is_hooked(launch, context.program.kernel) or not followed(launch):
                continue  # without its constexprs, whether the kernel gets to its atomics is not known
            stored = {site.access.base for site in sites(launch.kernel, Store)}
            for site in sites(launch.kernel, Atomic):
                atomic, base = site.node, site.access.base
                tensor = launch.tensor(base)
                if (
                    not isinstance(atomic, Atomic)
                    or tensor is None
                    or tensor.storage.origin != "empty"
                    or tensor.storage.id in seen
                ):
                    continue
                if launch.tuning is not None and base in launch.tuning.zeroed:
                    continue
                if stored & partners(launch, base) or atomic.op in ("cas", "xchg"):
                    continue
                if written_before(context.workload, launch, tensor):
                    continue
                seen.add(tensor.storage.id)
                yield self.finding(
                    f"`{tensor.name or base}` is not initialised, and the kernel accumulates into it with atomic_{atomic.op}",
                    launch.span,
                    launch.function,
                    (
                        Evidence("allocated here, without contents", tensor.storage.span),
                        Evidence("accumulated here", site.access.span),
                    ),
                    _initialising(context, tensor, atomic),
                    kernel=launch.kernel.name,
                )


def _initialising(context: Context, tensor: Tensor, atomic: Atomic) -> Change | None:
    """The change that allocates ``tensor`` with contents; None where its allocation is not in view."""
    place = tensor.storage.span
    if place is None:
        return None
    return mending(
        context,
        Initialised(place, atomic.op, tensor.dtype is not None and tensor.dtype.is_float),
        f"`{tensor.name or 'the buffer'}` holds anything when the kernel begins to accumulate into it",
        "Allocate it with `torch.zeros`; with `torch.full` and an infinity for a maximum or minimum.",
    )
