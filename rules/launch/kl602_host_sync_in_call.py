from __future__ import annotations

from collections.abc import Iterable

from kernlint.operators.drop_wait import DROP_WAIT, Wait
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.workload import Launch, Step

_IN_ORDER = "Leave it out: the device takes what is queued in order, and who reads a result waits for it."
_KEPT = "Keep the value on the device: pass the tensor to the kernel, which loads it, or bound the sizes without looking at it."
_ELSEWHERE = (
    "`tl.load` it there, compute shapes from an upper bound with a mask, and move host-side checks behind a debug flag."
)


class HostSyncInCall(Rule):
    code = "KL602"
    name = "host-sync-in-call"
    operator = "drop a wait"
    summary = "the host waits for the device in the middle of a call"
    what_it_does = """
        Finds `.item()`, `.cpu()`, `.tolist()`, a tensor in an `if`, boolean-mask indexing, `nonzero` and `torch.cuda.synchronize()`
        between the launches of a call: places where the host cannot go on before the device is done.
        """
    why = """
        Launches are queued: while the device works, the host prepares the next ones. A sync drains that queue; the device then
        idles until the host has woken up and issued more. A CUDA graph cannot capture it at all.
        """
    when_not = """
        A value that the caller asked for: read after the last launch, or the size of a result. An argument that only the host
        reads, which may be on the host already, and a sync that an argument left out leads to. Tests, checks and benchmarks.
        """
    fix_safety = "Unsafe: the value must reach the kernel in another way, as a tensor that it loads or a bound that it masks with."
    evidence = """
        H100: `.item()` takes 13 us of host time on an idle device and drains the queue (`calibration/facts/h100-overheads.json`).
        Pattern rows PERF-074 (experts picked with `torch.where`), PERF-076, PERF-077, PERF-078.
        """

    bad = """
        @triton.jit
        def scale(x, y, n, s, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n) * s, mask=i < n)

        """
    good = bad.replace(" * s", " / tl.load(s)")
    launch = """s = 1.0 / x.abs().max().item()
                scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), s, BLOCK=1024)"""
    good_launch = """s = x.abs().max()
                scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), s, BLOCK=1024)"""
    inputs = "torch.randn(1024, 1024)"
    example = "s = x.abs().max().item()\nkernel[grid](x, y, n, s)"
    use_instead = "s = x.abs().max()\nkernel[grid](x, y, n, s)  # tl.load(s)"

    def check(self, context: Context) -> Iterable[Finding]:
        """One finding a function: who mends one of its waits mends them all."""
        groups: dict[str, list[Wait]] = {}
        for wait in DROP_WAIT.proven(context):
            groups.setdefault(wait.sync.function, []).append(wait)
        for waits in groups.values():
            yield self._finding(context, waits)

    def _finding(self, context: Context, waits: list[Wait]) -> Finding:
        wait = waits[0]
        sync, waiting = wait.sync, wait.waiting[0]
        first = next((s for s in (waiting, *wait.before) if isinstance(s, Launch)), None)
        others = f" (and at {len(waits) - 1} more place{'s' if len(waits) > 2 else ''})" if len(waits) > 1 else ""
        places, advice, instead = _places(waits), _IN_ORDER, ": no value is read there."
        if any(one.sync.what != "torch.cuda.synchronize" for one in waits):
            advice, instead = _KEPT, f"; pass the tensor itself to {_name(waiting)} and {_ELSEWHERE}"
        return self.finding(
            f"`{sync.function}` waits for the device before {_name(waiting)} is issued: {sync.what}{others}",
            sync.span,
            sync.function,
            (
                Evidence(f"{sync.what} at line {sync.span.line}", sync.span),
                Evidence(f"{_name(waiting)} is issued only after it", waiting.span),
                *(Evidence(f"the device must finish {_name(step)} first", step.span) for step in wait.before[-1:]),
                *(
                    Evidence(f"{w.sync.what} at line {w.sync.span.line}, before {_name(w.waiting[0])}", w.sync.span)
                    for w in waits[1:]
                ),
            ),
            Change(
                DROP_WAIT.apply(context, waits),
                f"The host waits at {places} ({sync.what}) until all queued work is done, and the device then idles until the "
                f"host has issued {_name(waiting)}.",
                advice,
                f"Remove the wait at {places}{instead}",
            ),
            kernel=first.kernel.name if first is not None else "",
        )


def _places(waits: list[Wait]) -> str:
    lines = list(dict.fromkeys(wait.sync.span.line for wait in waits))
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines))}"


def _name(step: Step) -> str:
    return f"`{step.kernel.name}`" if isinstance(step, Launch) else f"torch {getattr(step, 'name', 'work')}"
