"""KL301."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kernlint.interpret.edits import Edits
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant, tensor_name
from kernlint.rules.memory.dropped import WithoutOps
from kernlint.rules.proofs.liveness import next_user, overwrites
from kernlint.rules.proofs.operand_layout import consumers
from kernlint.workload import Launch, Size, Step, Tensor, TorchOp

#: What keeping converted parameters has to gain over reading them as they are.
_AS_GOOD = 1.1


class PerCallCopy(Rule):
    code = "KL301"
    name = "per-call-copy"
    category = "memory"
    severity = "warning"
    remark_if_open = True
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
    fix_safety = "Safe when the kernel takes strides; where it assumes row-major memory, its offsets must be rewritten with them."
    evidence = """
        H100: `w.t().contiguous()` of a 2048 x 2048 int8 matrix takes 30 us, more than the GEMM that reads it
        (`calibration/facts/h100-seed.txt`). Pattern rows PERF-034, PERF-035, PERF-036, PERF-057.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def scale(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                x = x.to(torch.float32)
                y = torch.empty_like(x)
                scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
                return y.to(torch.float16)

        def get_inputs():
            return [torch.randn(4096, 4096, dtype=torch.float16)]
        """
    good = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def scale(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, (tl.load(x + i, mask=i < n).to(tl.float32) * 2.0).to(tl.float16), mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty_like(x)
                scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(4096, 4096, dtype=torch.float16)]
        """
    example = "kernel[grid](x.to(torch.float32), ...)\nreturn y.to(torch.float16)"
    use_instead = "kernel[grid](x, ...)  # convert in registers\nreturn y"

    def check(self, context: Context) -> Iterable[Finding]:
        by_function: dict[str, list[TorchOp]] = {}
        for step, _ in context.workload.walk():
            if isinstance(step, TorchOp) and _avoidable(context, step):
                by_function.setdefault(step.function, []).append(step)
        kernel = next((s.kernel.name for s in context.launches()), "")
        for function, passes in by_function.items():
            if all(p.kind == "fill" for p in passes):
                continue  # a fill without other passes beside it is KL302's business
            gone, change = _change(context, passes)
            yield Finding(
                self,
                self.severity,
                f"`{function}` makes avoidable passes over whole tensors on every call: {_listed(gone)}",
                gone[0].span,
                function,
                kernel,
                tuple(Evidence(_proof(p), p.span) for p in gone),
                change,
            )


def _change(context: Context, passes: list[TorchOp]) -> tuple[list[TorchOp], Change]:
    """The passes that go, and how: all of them, or, where that is faster, with the results of those that convert parameters
    kept from call to call (a kernel that feeds a product may be slow at what it would have to read instead)."""
    once = _of_parameters(passes)
    others = [p for p in passes if not any(p is one for one in once)]
    kept = WithoutOps(frozenset(p.span for p in once))
    options: list[tuple[list[TorchOp], Variant]] = [(passes, context.variant.then(_without(passes)))]
    if once:
        options.append((passes, context.variant.then(_without(others), kept)))
        options.append((once, context.variant.then(transform=kept)))
    times = [context.gpu_us(variant) for _, variant in options]
    # Without a second copy of the parameters in memory, where that is about as good.
    costs = [math.inf if t is None else t * (1.0 if i == 0 else _AS_GOOD) for i, t in enumerate(times)]
    best = min(range(len(options)), key=lambda i: (costs[i], i))
    gone, variant = options[best]
    moved = sum((t.nbytes or 0) for p in gone for t in (*p.reads, *p.writes))
    size = f", {moved / 1e6:.1f} MB in all" if moved else ""
    why = f"Every call runs {len(gone)} extra pass{'es' * (len(gone) > 1)} over whole tensors{size}: {_listed(gone)}."
    if best == 0:
        return gone, Change(
            variant,
            why,
            "Read the original tensors through their strides, convert types in registers, and write the final type into "
            "an uninitialised output, so that these passes go.",
            f"Remove {_listed(gone)}; pass the strides of the original to the kernel and cast after `tl.load` and before `tl.store`.",
        )
    rest = f" Do {_listed(others)} in registers." if others and gone is passes else ""
    return gone, Change(
        variant,
        why,
        f"Convert the parameters once, when they are set, and keep the results.{rest}",
        f"Do {_listed(once)} in `__init__` (and again when the parameters change), and pass what it gives.{rest}",
    )


def _without(passes: Iterable[TorchOp]) -> Edits:
    return Edits(
        skipped=frozenset(p.span for p in passes if p.kind != "fill"),
        unfilled=frozenset(p.span for p in passes if p.kind == "fill"),
    )


def _of_parameters(passes: list[TorchOp]) -> list[TorchOp]:
    """Those of ``passes`` whose results depend on parameters of the model alone."""
    made: set[int] = set()
    found = []
    for op in passes:
        sources = [t.storage for t in op.reads]
        if sources and all(s.origin == "parameter" or s.id in made for s in sources):
            made |= {t.storage.id for t in op.writes}
            found.append(op)
    return found


def _listed(passes: list[TorchOp]) -> str:
    names = [f"{p.name} of `{_subject(p)}` (line {p.span.line})" for p in passes]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _avoidable(context: Context, op: TorchOp) -> bool:
    """Whether kernels alone see what ``op`` makes, so that they could do without it."""
    if len(op.writes) != 1:
        return False
    target = op.writes[0]
    readers = consumers(context.workload, target.storage.id)
    readers = [r for r in readers if r is not op]
    if op.kind == "fill":
        launch = next_user(context.workload, op, target.storage.id)
        return isinstance(launch, Launch) and overwrites(launch, target)
    if op.kind not in ("copy", "transpose", "cast") or len(op.reads) != 1:
        return False
    if op.kind == "cast" and op.reads[0].dtype is None:
        return False  # perhaps it has that type already
    if op.name in ("copy_", "setitem", "repeat", "repeat_interleave", "pad", "roll", "flip"):
        return False
    if op.reads[0].storage.origin == "constant" or _is_one_number(target):
        return False
    if op.name == "clone" and _read_in_a_loop(context, op, readers):
        return False  # a later iteration may write to it: sorts pass over two buffers in turn
    if readers:
        return all(
            isinstance(r, Launch) or (isinstance(r, TorchOp) and _avoidable(context, r)) for r in readers
        ) and not _written(readers, target.storage.id)
    # Nothing in view reads it: it is what the call returns. A kernel that made the source could have written this type.
    made = [s for s in context.launches() if _writes(s, op.reads[0].storage.id)]
    return op.kind == "cast" and bool(made) and any(t.storage.id == target.storage.id for t in context.workload.outputs)


def _is_one_number(tensor: Tensor) -> bool:
    return tensor.shape is not None and all(extent == 1 for extent in tensor.shape)


def _read_in_a_loop(context: Context, op: TorchOp, readers: Iterable[Step]) -> bool:
    """Whether any of ``readers`` stands in a loop of the host that ``op`` stands outside of."""
    around = {id(step): len(loops) for step, loops in context.workload.walk()}
    return any(around.get(id(reader), 0) > around.get(id(op), 0) for reader in readers)


def _writes(launch: Launch, storage: int) -> bool:
    return any(
        (tensor := launch.tensor(store.base)) is not None and tensor.storage.id == storage
        for store in launch.kernel.stores()
    )


def _written(readers: Iterable[Step], storage: int) -> bool:
    return any(isinstance(r, Launch) and _writes(r, storage) for r in readers)


def _subject(op: TorchOp) -> str:
    tensors = op.reads or op.writes
    return tensor_name(tensors[0], tensor_name(op.writes[0], "a result"))


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
