"""KL404."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant
from kernlint.rules.fusion.chains import chains
from kernlint.rules.fusion.fused import described, listed, size_text, step_name
from kernlint.rules.fusion.into_launch import IntoLaunch, absorbing_launch, results_kept, rows_load
from kernlint.rules.fusion.torch_groups import FuseGroup, Group, groups
from kernlint.rules.proofs.pricing import gain
from kernlint.rules.proofs.step_graph import blamed
from kernlint.workload import Launch, concrete

#: Calls that make a chain; below it the launches saved are few and the code is clearer without a kernel.
_LEAST = 3
#: Elements below which a tensor is bookkeeping rather than data.
_BIG = 4096


class UnfusedTorchRows(Rule):
    code = "KL404"
    name = "unfused-torch-rows"
    category = "fusion"
    severity = "warning"
    remark_if_open = True
    silent_if_open = True
    summary = "a norm, softmax, quantisation or activation beside Triton kernels is spelt out in torch calls"
    what_it_does = """
        In functions that launch Triton kernels, finds three or more eager torch calls that map and reduce the
        same rows one after another (`pow`, `mean`, `rsqrt`, `mul`; `amax`, `div`, `round`, `to`), and a
        broadcast product that is summed at once; one call is enough where a kernel that reads its result holds
        the rows anyway.
        """
    why = """
        Eager torch runs one kernel per call, and each reads and writes the whole tensor. One row kernel reads
        the input once and writes the result once.
        """
    when_not = """
        Code under `torch.compile`, which fuses by itself. Rows too long for one program. Small tensors, whose
        launches are hidden behind other work in scope `gpu`.
        """
    fix_safety = "Unsafe: the fused kernel keeps fp32 where torch rounded between calls, and sums in another order."
    evidence = """
        H100, [4096, 4096] fp16, warm: one elementwise torch call 24 to 35 us, a whole `layer_norm` in one
        kernel 31 us (`calibration/facts/h100-torch-ops.csv`); each torch call 9 to 11 us of host time
        (`h100-overheads.json`). Pattern rows PERF-062, PERF-063, PERF-064, PERF-060.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def copy(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x, w, other):
                y = torch.empty_like(other)
                copy[(triton.cdiv(other.numel(), 1024),)](other, y, other.numel(), BLOCK=1024)
                v = x.float().pow(2).mean(-1, keepdim=True)
                return (x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype), y

        def get_inputs():
            return [torch.randn(8192, 4096, dtype=torch.float16), torch.randn(4096), torch.randn(1024)]
        """
    good = bad.replace("v = x.float().pow(2).mean(-1, keepdim=True)", "").replace(
        "(x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype)", "torch.nn.functional.rms_norm(x, (4096,), w)"
    )
    example = "v = x.float().pow(2).mean(-1, keepdim=True)\ny = (x.float() * torch.rsqrt(v + eps) * w).to(x.dtype)"
    use_instead = "rms_norm_kernel[(rows,)](x, w, y, N, eps, BLOCK=triton.next_power_of_2(N))"

    def check(self, context: Context) -> Iterable[Finding]:
        workload = context.workload
        if not context.launches():
            return
        fused_with_launches = [step for chain in chains(workload) for step in chain.steps]
        # What only prepares a kernel's operands counts as that kernel's chain, unless the kernel can do all of it.
        whole = {id(group.ops[0]): group for group in groups(workload, (), 1)}
        told: set[int] = set()
        for group in groups(workload, fused_with_launches):
            if len(group.ops) < (2 if group.widens else _LEAST) or all(op.kind == "cast" for op in group.ops):
                continue
            if not _is_data(group):
                continue
            variant = context.variant.then(transform=FuseGroup(group.places))
            before, after = context.gpu_us(context.variant), context.gpu_us(variant)
            wider = whole.get(id(group.ops[0]), group)
            reader = absorbing_launch(workload, wider)
            if reader is not None:
                inside = context.variant.then(transform=IntoLaunch(wider.places))
                there = context.gpu_us(inside)
                if after is None or there is None or there < after:
                    group, variant, after = wider, inside, there
                else:
                    reader = None
            if before is None or after is None or after < before:
                told.update(id(op) for op in group.ops)
                yield self._finding(context, group, variant, reader)
        for group in whole.values():
            # Too few for a kernel of their own, but not for one that has the rows.
            if _is_data(group) and not any(id(op) in told for op in group.ops):
                reader = absorbing_launch(workload, group)
                variant = context.variant.then(transform=IntoLaunch(group.places))
                expected = gain(context, variant) if reader is not None else 0.0
                if expected is None or expected > 1:
                    yield self._finding(context, group, variant, reader)

    def _finding(self, context: Context, group: Group, variant: Variant, reader: Launch | None = None) -> Finding:
        """``reader`` is the launch that is to do the work, None where a kernel of its own does."""
        ops = group.ops
        names = listed([f"`{op.name}`" for op in ops])
        shape = "[" + ", ".join(map(size_text, group.shape)) + "]"
        moved = sum((t.nbytes or 0) for op in ops for t in (*op.reads, *op.writes))
        size = f", {moved / 1e6:.1f} MB in all" if moved >= 50_000 else ""
        inputs = listed([f"`{described(t)[0]}`" for t in group.reads]) if group.reads else "its inputs"
        what = "row kernel that keeps each row on chip" if group.reduces else "elementwise kernel"
        does = f"calls ({names}) each read and write" if len(ops) > 1 else f"call ({names}) reads"
        first, last = ops[0].span.line, ops[-1].span.line
        lines = f"lines {first} to {last}" if last > first else f"line {first}"
        if reader is None:
            method = f"Do them in one Triton {what}: {inputs} read once, the final result written once."
            plan = _plan(group, lines)
        else:
            kernel = reader.kernel.name
            method = f"Let `{kernel}` compute it: its programs load whole rows of {inputs} anyway."
            kept = results_kept(context.workload, group, reader)
            rest = "the loads of their result, which it stores instead" if kept else "the argument for their result"
            plan = (
                f"In `{kernel}` do what {lines} {'do' if last > first else 'does'} with {_loaded(reader, group)}, in fp32 "
                f"registers, and drop the calls and {rest}."
            )
        told = f"{len(ops)} torch calls work on the same {shape} values one after another: {names}"
        if len(ops) == 1 and reader is not None:
            told = f"torch `{ops[0].name}` reduces {shape} values that `{reader.kernel.name}` has on chip too"
        return Finding(
            self, self.severity, told,
            ops[0].span, blamed(context.workload, ops), "",
            tuple(Evidence(f"{step_name(op)} is a pass of its own over {shape}", op.span) for op in ops),
            Change(
                variant, f"{len(ops)} torch {does} {shape} values through global memory{size}.",
                method, plan,
            ),
        )  # fmt: skip


def _is_data(group: Group) -> bool:
    """Whether the values that ``group`` works on are more than bookkeeping."""
    return max((t.numel or _BIG for op in group.ops for t in (*op.reads, *op.writes)), default=0) >= _BIG


def _loaded(reader: Launch, group: Group) -> str:
    """What to call the rows that ``reader`` loads anyway."""
    load, columns = rows_load(reader, group), concrete(group.shape[-1])
    if load is None or not columns or load.shape[-1] <= columns:
        return "the loaded row"
    tile = ", ".join(map(str, (*load.shape[:-1], load.shape[-1] // columns, columns)))
    return f"the loaded block, reshaped to [{tile}] so that a row of it is a row of theirs"


def _plan(group: Group, lines: str) -> str:
    """How to write the one kernel for what ``lines`` do."""
    names = listed([f"`{op.name}`" for op in group.ops])
    if not group.reduces:
        return (
            f"Write one kernel for {lines}: a program loads a block of each input once, with `mask=i < n`, computes {names} on fp32 "
            "values and stores the result; launch it with triton.cdiv(n, BLOCK) programs in their place."
        )
    columns, rows = size_text(group.shape[-1]), " x ".join(map(size_text, group.shape[:-1]))
    return (
        f"Write one kernel for {lines}: a program loads one row of each input with `mask=columns < {columns}` and "
        f"BLOCK=triton.next_power_of_2({columns}), computes {names} on fp32 values, puts the neutral element into masked lanes "
        f"(`tl.where`) in front of each reduction over axis 0, and stores the result; launch it with {rows} programs, one a row, "
        "in their place."
    )
