from __future__ import annotations

from collections.abc import Iterable

from kernlint.operators.drop import DROP, Picked, copies_windows, picked, picks, without
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.wording import listed
from kernlint.workload import Span, Tensor, TorchOp


class MaterialisedGather(Rule):
    code = "KL310"
    name = "materialised-gather"
    operator = "drop"
    severity = "info"
    silent_if_open = True
    summary = "rows are gathered or repeated into a new tensor that only a kernel then reads"
    what_it_does = """
        Finds `index_select`, row indexing, `gather`, `repeat_interleave`, `repeat` and copies of expanded views
        (`k[:, :, None].expand(...).reshape(...)`) whose result is read by launches alone and does not outlive the call.
        """
    why = """
        The rows are written out and read back before the kernel sees them. The kernel could load through the index itself
        (`head // group` for repeated heads): one pass over the data less, and for repeated heads a smaller working set.
        """
    when_not = """
        Results that torch operations read too, that are returned, or that the kernel reads many times in an order in which gathered
        rows would be scattered. Windows that are written out (`F.unfold`): what their copy costs is a cause of the headroom.
        """
    fix_safety = "Unsafe: the kernel's address arithmetic changes."
    evidence = """
        H200, 32,768 rows of 2,048 halves out of a table: 167 us with `index_select` before the kernel, 95 us with the rows loaded
        through the index (`evals/2026-11-28-first/embedding-then-add`). Pattern rows PERF-054 and PERF-055.
        """

    bad = (
        elementwise("double", "{} * 2.0")
        + """
        class ModelNew(torch.nn.Module):
            def forward(self, kv):
                heads = kv.repeat_interleave(4, dim=1)
                y = torch.empty_like(heads)
                double[(triton.cdiv(y.numel(), 1024),)](heads, y, y.numel(), BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(2, 8, 4096, 64, dtype=torch.float16)]
        """
    )
    good = bad.replace("kv.repeat_interleave(4, dim=1)", "kv")
    example = "k = k.repeat_interleave(H // H_KV, dim=1)\nattend[grid](q, k, v, ...)"
    use_instead = "attend[grid](q, k, v, ..., GROUP=H // H_KV)  # kv_head = head // GROUP"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        by_reader: dict[Span, list[TorchOp]] = {}
        for site in DROP.sites(context):
            op = site.op
            found = picked(context, op, site.loops) if picks(op) and op.span not in seen else None
            if isinstance(found, Picked) and not copies_windows(op):
                seen.add(op.span)
                by_reader.setdefault(found.reader.span, []).append(op)
        for launch in context.launches():
            ops = by_reader.pop(launch.span, [])
            if ops:
                yield self._finding(context, launch.kernel.name, ops)

    def _finding(self, context: Context, kernel: str, ops: list[TorchOp]) -> Finding:
        first = ops[0]
        picked = [tensor_name(_source(op), "a tensor") for op in ops]
        names = listed([f"`{op.name}` of `{name}`" for op, name in zip(ops, picked)])
        sources = listed([f"`{name}`" for name in dict.fromkeys(picked)])
        lines = listed([str(line) for line in dict.fromkeys(op.span.line for op in ops)])
        moved = sum(op.writes[0].nbytes or 0 for op in ops)
        size = f", {moved / 1e6:.1f} MB" if moved else ""
        several = len(ops) > 1
        return self.finding(
            f"{names} make{'' if several else 's'} {'tensors' if several else 'a tensor'} that only `{kernel}` reads",
            first.span,
            first.function,
            (
                *(Evidence(f"{op.name} writes {_described(op)}", op.span) for op in ops),
                Evidence(
                    f"the only steps that touch {'them' if several else 'it'} are launches, first `{kernel}`",
                    first.span,
                ),
            ),
            Change(
                context.variant.then(transform=without(ops)),
                f"Each call writes the rows that {names} pick{'' if several else 's'}{size} and `{kernel}` reads them back.",
                f"Let `{kernel}` load the rows of {sources} through the index.",
                f"Drop the call{'s' * several} at line{'s' * several} {lines}, pass {sources} (and the "
                f"index) to `{kernel}`, and compute the row there.",
            ),
            kernel=kernel,
        )


def _source(op: TorchOp) -> Tensor:
    """The tensor that ``op`` picks rows of: an embedding names the index first."""
    return next((read for read in op.reads if read.dtype == op.writes[0].dtype), op.reads[0])


def _described(op: TorchOp) -> str:
    made = op.writes[0]
    return f"{made.dtype or 'a tensor'}" + (f", {made.nbytes / 1e6:.1f} MB" if made.nbytes else "")
