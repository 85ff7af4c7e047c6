from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.bounds import sizes_told
from kernlint.rules.proofs.counterparts import counterpart
from kernlint.rules.proofs.dot_tiles import setting
from kernlint.rules.proofs.overshoots import overshoots
from kernlint.workload import Launch
from kernlint.workload.access import Access, Load, Store


class WrongDivisibilityFlag(Rule):
    code = "KL739"
    name = "wrong-divisibility-flag"
    severity = "error"
    summary = "a flag that switches masks off holds for sizes that are no multiple of the tile"
    what_it_does = """
        Reads the kernel with each constexpr flag that the launch computes from open sizes (`EVEN = K % 16 == 0`)
        taken to hold, and finds accesses without a mask that leave the last tile for sizes that the flag lets
        through, and that are masked, or not made, where the flag does not hold.
        """
    why = "The masks are skipped for sizes that need them: the kernel reads or writes past the end."
    when_not = "Flags computed from the tile that the loop steps by, in `triton.heuristics` where the tile is tuned."
    fix_safety = "No automatic fix: the predicate is the author's to say."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) with K = 18. Pattern row BUG-010. No gain: wrong results
        have no speed.
        """
    references = (
        "https://github.com/pytorch/ao/issues/4633",
        "https://github.com/triton-lang/triton/issues/630",
    )

    bad = """
        @triton.jit
        def k(x, o, K, EVEN: tl.constexpr, B: tl.constexpr):
            c = tl.arange(0, B)
            acc = tl.zeros((B,), tl.float32)
            for s in range(0, K, B):
                if EVEN:
                    acc += tl.load(x + s + c)
                else:
                    acc += tl.load(x + s + c, mask=s + c < K, other=0.0)
            tl.store(o, tl.sum(acc, axis=0))
        def run(x, o, K): k[(1,)](x, o, K, EVEN=(K % 2 == 0), B=16)
        """
    good = bad.replace("K % 2", "K % 16")

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for kind in (Load, Store):
            found = [(s.launch, s.site.access, s.sizes) for s in overshoots(context.workload, kind)]
            for launch, access, sizes in found:
                if not launch.premises or not sizes or (launch.kernel.name, access.span) in seen:
                    continue
                seen.add((launch.kernel.name, access.span))
                if not _is_switched(context, launch, access):
                    continue
                flags = ", ".join(f"`{name}`" for name in launch.premises)
                yield self.finding(
                    f"{flags} holds where {sizes_told(sizes)}, and this access without a mask then leaves the last tile",
                    access.span,
                    launch.kernel.name,
                    (Evidence(f"the launch computes {flags} here", launch.span),),
                )


def _is_switched(context: Context, launch: Launch, access: Access) -> bool:
    """Whether ``access`` is masked, or is not made, where one of the flags does not hold."""
    for name in launch.premises:
        other = counterpart(context, context.variant.then(setting(launch, {name: False})), launch)
        if other is None:
            return True
        same = [
            one for one, _ in other.kernel.walk(type(access)) if isinstance(one, Access) and one.span == access.span
        ]
        if all(one.mask is not None for one in same):
            return True
    return False
