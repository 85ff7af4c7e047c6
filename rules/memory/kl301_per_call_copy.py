from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Union

from kernlint.operators.drop import DROP, Picked, Skipped, Unfilled, subject_of, without
from kernlint.records import replace
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Doubt, Evidence, Finding, Variant
from kernlint.rules.wording import listed
from kernlint.workload import Size, TorchOp

#: A pass over whole tensors that can go.
Pass = Union[Skipped, Unfilled]

#: What keeping converted parameters has to gain over reading them as they are.
_AS_GOOD = 1.1

_NO_PASS = "the types are open: nothing is copied where the tensor already has the one that is asked for"


class PerCallCopy(Rule):
    code = "KL301"
    name = "per-call-copy"
    operator = "drop"
    silent_if_open = True
    summary = "the launcher copies, casts or clears tensors that the kernel could read or write in place"
    what_it_does = """
        Finds `.contiguous()`, `.clone()`, `.to(dtype)` and `zeros_like` passes around a kernel launch: the copy is
        read by Triton kernels only (or is made of a kernel's output only to change its type), so the kernel could read
        the original through its strides, convert in registers, and write the final type. What is made of parameters alone
        can also be made once.
        """
    why = """
        Each such pass reads and writes the whole tensor and is a launch of its own; for a memory-bound kernel it costs
        as much as the kernel. A transposing copy is worse: 8-bit elements move at a tenth of the bandwidth.
        """
    when_not = """
        `.contiguous()` of a tensor that already is (no copy happens). Copies that torch operations read too. A kernel
        that reads the tensor many times in an order that the original does not offer: the estimate decides.
        """
    fix_safety = """
        Safe where the kernel finds every element of the original. Unsafe where it took the copy for row-major memory, so that it is written
        anew, where an argument is converted whose layout nothing tells (it is put in order, which costs nothing where it is), and where a
        fill goes with the copy: that every element is written is proven at the sizes of one call.
        """
    evidence = """
        H100: `w.t().contiguous()` of a 2048 x 2048 int8 matrix takes 30 us, more than the GEMM that reads it
        (`calibration/facts/h100-seed.txt`). Pattern rows PERF-034, PERF-035, PERF-036, PERF-057.
        """

    bad = (
        elementwise("scale", "{} * 2.0")
        + """
        class ModelNew(torch.nn.Module):
            def forward(self, x):
                x = x.to(torch.float32)
                y = torch.empty_like(x)
                scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
                return y.to(torch.float16)

        def get_inputs():
            return [torch.randn(4096, 4096, dtype=torch.float16)]
        """
    )
    good = (
        bad.replace(
            "tl.load(x + i, mask=i < n) * 2.0,", "(tl.load(x + i, mask=i < n).to(tl.float32) * 2.0).to(tl.float16),"
        )
        .replace("                x = x.to(torch.float32)\n", "")
        .replace("y.to(torch.float16)", "y")
    )
    example = "kernel[grid](x.to(torch.float32), ...)\nreturn y.to(torch.float16)"
    use_instead = "kernel[grid](x, ...)  # convert in registers\nreturn y"

    def check(self, context: Context) -> Iterable[Finding]:
        by_function: dict[str, list[Pass]] = {}
        for proof in DROP.proven(context):
            if not isinstance(proof, Picked):
                by_function.setdefault(proof.op.function, []).append(proof)
        kernel = next((s.kernel.name for s in context.launches()), "")
        for function, passes in by_function.items():
            if all(isinstance(proof, Unfilled) for proof in passes):
                continue  # a fill without other passes beside it is KL302's business
            gone, change = _change(context, passes)
            found = self.finding(
                f"`{function}` makes avoidable passes over whole tensors on every call: {_listed(gone)}",
                gone[0].op.span,
                function,
                tuple(Evidence(_proof(p.op), p.op.span) for p in gone),
                change,
                kernel=kernel,
            )
            yield replace(found, doubts=(Doubt(_NO_PASS),)) if all(_may_be_none(p.op) for p in gone) else found


def _may_be_none(op: TorchOp) -> bool:
    """Whether ``op`` changes nothing but the type, from or to one that is open: torch hands out the tensor itself where it has that."""
    if op.kind == "fill":
        return False
    source, target = op.reads[0], op.writes[0]
    return source.strides == target.strides and source.dtype != target.dtype and None in (source.dtype, target.dtype)


def _change(context: Context, passes: list[Pass]) -> tuple[list[Pass], Change]:
    """The passes that go, and how: all of them, or, where that is faster, with the results of those that convert parameters
    kept from call to call (a kernel that feeds a product may be slow at what it would have to read instead)."""
    once = _of_parameters(passes)
    others = [p for p in passes if not any(p is one for one in once)]
    kept = without(p.op for p in once)
    options: list[tuple[list[Pass], Variant]] = [(passes, DROP.apply(context, passes))]
    if once:
        options.append((passes, DROP.apply(context, others).then(transform=kept)))
        options.append((once, context.variant.then(transform=kept)))
    times = [context.gpu_us(variant) for _, variant in options]
    # Without a second copy of the parameters in memory, where that is about as good.
    costs = [math.inf if t is None else t * (1.0 if i == 0 else _AS_GOOD) for i, t in enumerate(times)]
    best = min(range(len(options)), key=lambda i: (costs[i], i))
    gone, variant = options[best]
    moved = sum((t.nbytes or 0) for p in gone for t in (*p.op.reads, *p.op.writes))
    size = f", {moved / 1e6:.1f} MB in all" if moved else ""
    why = f"Every call runs {len(gone)} extra pass{'es' * (len(gone) > 1)} over whole tensors{size}: {_listed(gone)}."
    if best == 0:
        return gone, Change(
            variant,
            why,
            f"{_instead(gone)}, so that {'these passes are' if len(gone) > 1 else 'this pass is'} not needed.",
            f"Remove {_listed(gone)}. {_instead(gone)}.",
        )
    rest = f" Do {_listed(others)} in registers." if others and gone is passes else ""
    return gone, Change(
        variant,
        why,
        f"Convert the parameters once, when they are set, and keep the results.{rest}",
        f"Do {_listed(once)} in `__init__` (and again when the parameters change), and pass what it gives.{rest}",
    )


def _instead(passes: list[Pass]) -> str:
    """What the kernel does in place of ``passes``."""
    copies = [p.op for p in passes if p.op.kind != "fill"]
    parts = []
    if any(op.reads[0].strides != op.writes[0].strides for op in copies):
        parts.append("pass the strides of the original to the kernel")
    if any(op.reads[0].dtype != op.writes[0].dtype for op in copies):
        parts.append("convert types in registers, after `tl.load` and before `tl.store`")
    if len(copies) < len(passes):
        parts.append("allocate what the kernel overwrites with `torch.empty`")
    text = "; ".join(parts or ["give the original to the kernel"])
    return text[0].upper() + text[1:]


def _of_parameters(passes: list[Pass]) -> list[Pass]:
    """Those of ``passes`` whose results depend on parameters of the model alone."""
    made: set[int] = set()
    found = []
    for one in passes:
        sources = [t.storage for t in one.op.reads]
        if sources and all(s.origin == "parameter" or s.id in made for s in sources):
            made |= {t.storage.id for t in one.op.writes}
            found.append(one)
    return found


def _listed(passes: list[Pass]) -> str:
    return listed([f"`{p.op.name}()` of `{subject_of(p.op)}` (line {p.op.span.line})" for p in passes])


def _proof(op: TorchOp) -> str:
    target = op.writes[0]
    shape = ", ".join(map(str, target.shape)) if target.shape is not None else "?"
    if op.kind == "fill":
        return f"{op.name} clears [{shape}] {target.dtype} that the kernel overwrites"
    source = op.reads[0]
    change = (
        f"{source.dtype} to {target.dtype}"
        if source.dtype != target.dtype
        else f"strides {_text(source.strides)} to {_text(target.strides)}"
    )
    return f"{op.name} copies [{shape}]: {change}"


def _text(strides: tuple[Size, ...] | None) -> str:
    return "(" + ", ".join(map(str, strides)) + ")" if strides is not None else "?"
