from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlint.headroom.causes import Cause
from kernlint.records import replace
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.fusion.chains import chains
from kernlint.rules.fusion.checks import kept_apart, makes_inputs
from kernlint.rules.proofs.dataflow import is_alloc
from kernlint.rules.wording import listed, step_name
from kernlint.workload import Launch, TorchOp

#: Calls that make a chain; below it the launches saved are few and the code is clearer without a kernel.
_LEAST = 3
#: Calls that compute nothing: KL301 and KL303 know what to do about those.
_MOVES = ("copy", "transpose", "cast", "fill", "cat", "gather")
#: Elements below which a tensor is bookkeeping rather than data.
_BIG = 4096


class UnfusedTorchRows(Rule):
    code = "KL404"
    name = "unfused-torch-rows"
    operator = "generate"
    silent_if_open = True
    summary = "a norm, softmax, quantisation or activation beside Triton kernels is spelt out in torch calls"
    what_it_does = """
        In functions that launch Triton kernels, finds three or more eager torch calls that hand their results on through memory
        (`pow`, `mean`, `rsqrt`, `mul`; `amax`, `div`, `round`, `to`), though one kernel could do them, and a broadcast product
        that is summed at once. It names a cause of the headroom: what it promises is the well-written version of these calls.
        """
    why = """
        Eager torch runs one kernel per call, and each reads and writes the whole tensor. One row kernel reads
        the input once and writes the result once.
        """
    when_not = """
        Code under `torch.compile`, which fuses by itself. Rows too long for one program. Small tensors, whose
        launches are hidden behind other work in scope `gpu`. A remark where the calls check results, or have a `backward()`
        or leaves of autograd between them.
        """
    evidence = """
        H100, [4096, 4096] fp16, warm: one elementwise torch call 24 to 35 us, a whole `layer_norm` in one
        kernel 31 us (`calibration/facts/h100-torch-ops.csv`); each torch call 9 to 11 us of host time
        (`h100-overheads.json`). Pattern rows PERF-062, PERF-063, PERF-064, PERF-060.
        """

    bad = (
        elementwise("copy", "{}")
        + """
        class ModelNew(torch.nn.Module):
            def forward(self, x, w, other):
                y = torch.empty_like(other)
                copy[(triton.cdiv(other.numel(), 1024),)](other, y, other.numel(), BLOCK=1024)
                v = x.float().pow(2).mean(-1, keepdim=True)
                return (x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype), y

        def get_inputs():
            return [torch.randn(8192, 4096, dtype=torch.float16), torch.randn(4096), torch.randn(1024)]
        """
    )
    good = bad.replace("v = x.float().pow(2).mean(-1, keepdim=True)", "").replace(
        "(x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype)", "torch.nn.functional.rms_norm(x, (4096,), w)"
    )
    example = "v = x.float().pow(2).mean(-1, keepdim=True)\ny = (x.float() * torch.rsqrt(v + eps) * w).to(x.dtype)"
    use_instead = "rms_norm_kernel[(rows,)](x, w, y, N, eps, BLOCK=triton.next_power_of_2(N))"

    def check(self, context: Context) -> Iterable[Finding]:
        torch_calls = [step for step in context.workload.all_steps if isinstance(step, TorchOp) and not is_alloc(step)]
        headroom = context.headroom if context.launches() and len(torch_calls) > 1 else None
        # What kernels can take in as it stands is KL401's, KL402's or KL403's to name.
        chained = {id(step) for chain in context.workload.once(chains) for step in chain.steps}
        made = context.workload.once(makes_inputs)
        for cause in headroom.causes if headroom is not None else ():
            calls = [step for step in cause.steps if isinstance(step, TorchOp) and not is_alloc(step)]
            calls = [call for call in calls if id(call) not in made]
            kernels = [step for step in cause.steps if isinstance(step, Launch)]
            least = 2 if any(map(_widens, calls)) else _LEAST
            left = sum(id(call) not in chained for call in calls)
            if all(call.kind in _MOVES for call in calls):
                continue
            if left < max(least, 2 * len(kernels)) or any(kernel.kernel.dots() for kernel in kernels):
                continue
            if cause.name in ("round trips", "copies") and max(map(_elements, calls)) >= _BIG:
                found = self._finding(cause, calls, kernels)
                yield replace(found, doubts=tuple(kept_apart(context, [*calls, *kernels])))

    def _finding(self, cause: Cause, calls: Sequence[TorchOp], kernels: Sequence[Launch]) -> Finding:
        names = listed([f"`{name}`" for name in dict.fromkeys(call.name for call in calls)])
        first, last = min(call.span.line for call in calls), max(call.span.line for call in calls)
        lines = f"lines {first} to {last}" if last > first else f"line {first}"
        moved = sum((tensor.nbytes or 0) for call in calls for tensor in (*call.reads, *call.writes))
        size = f", {moved / 1e6:.1f} MB in all" if moved >= 50_000 else ""
        with_kernels = "".join(f" and of `{name}`" for name in dict.fromkeys(kernel.kernel.name for kernel in kernels))
        return self.finding(
            f"{len(calls)} torch calls work on the same values one after another: {names}",
            cause.span,
            cause.symbol,
            (
                Evidence(cause.evidence, cause.span),
                *(Evidence(f"{step_name(call)} is a pass of its own", call.span) for call in calls),
            ),
            Change(
                None,
                f"{len(calls)} torch calls ({names}) each read and write their values through global memory{size}.",
                f"Do the work of {lines}{with_kernels} in one kernel, or in as few as need all of a row or column before they go on.",
                f"Write a kernel in the place of {lines}: a program loads a row, or a block of elements, of each input once, with a mask, "
                "computes everything on fp32 values (masked lanes neutral in front of a reduction), and stores the result once.",
            ),
            cause,
            kernel="",
        )


def _elements(call: TorchOp) -> int:
    """The elements of the largest tensor of ``call``; many where that is open."""
    return max((tensor.numel or _BIG for tensor in (*call.reads, *call.writes)), default=0)


def _widens(call: TorchOp) -> bool:
    """Whether ``call`` writes out more elements than all of its operands have together."""
    read = [tensor.numel for tensor in call.reads]
    made = sum(tensor.numel or 0 for tensor in call.writes)
    return len(read) > 1 and made > sum(size or made for size in read)
