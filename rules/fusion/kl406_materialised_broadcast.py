from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.fusion.broadcasts import BroadcastReduced, broadcasts, squares_differences, sums_products
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.proofs.step_graph import blamed
from kernlint.rules.wording import listed


class MaterialisedBroadcast(Rule):
    code = "KL406"
    name = "materialised-broadcast"
    operator = "generate"
    summary = "torch writes out a broadcast result that a kernel could form itself"
    what_it_does = """
        Finds elementwise torch calls on operands that broadcast against each other, such as `x[:, None] - c[None]`, whose result
        has at least four times the elements of its operands together and is read by one launch alone, which reduces its last axis.
        """
    why = """
        The result has rows x columns x depth elements, and its operands have rows x depth and columns x depth. Writing and
        reading it costs far more than all else. A kernel that loads a tile of each operand forms the elements in registers and
        uses each loaded row for a whole tile of results. A sum of products, or of squared differences
        (`|x|^2 + |c|^2 - 2 x.c`), is a matrix product beside.
        """
    when_not = """
        The result is returned, made once outside of the call, or read by something else; one of the operands is as large as
        the result; the kernel stores something for each element. A new kernel that is not predicted to be faster.
        """
    evidence = """
        H200, 8,192 points, 512 centres, 64 dimensions in fp16: 769 us with the differences written out, 7 us with squared norms and
        `tl.dot` in one kernel; 1,024 points, 128 centres and 32 dimensions: 15 us and 2 us
        (`evals/2026-11-28-third/rbf-broadcast-difference`).
        """

    bad = """
        @triton.jit
        def row_norms(d, y, rows, D: tl.constexpr, ROWS: tl.constexpr):
            r, i = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
            v = tl.load(d + r[:, None] * D + i[None, :], mask=r[:, None] < rows, other=0.0)
            tl.store(y + r, tl.sum(tl.abs(v), axis=1), mask=r < rows)

        class ModelNew(torch.nn.Module):
            def forward(self, x, c):
                d = x[:, None, :] - c[None, :, :]
                y = torch.empty(x.shape[0], c.shape[0], device=x.device)
                row_norms[(triton.cdiv(y.numel(), 32),)](d, y, y.numel(), D=64, ROWS=32)
                return y

        def get_inputs():
            return [torch.randn(4096, 64), torch.randn(512, 64)]
        """
    good = bad.replace("return y\n", "return y, d\n")
    example = "d = x[:, None, :] - c[None, :, :]\nrow_norms[grid](d, y, ...)"
    use_instead = "distances[(cdiv(n, BN), cdiv(m, BM))](x, c, y, ...)  # loads both tiles, subtracts in registers"

    def check(self, context: Context) -> Iterable[Finding]:
        for found in broadcasts(context.workload):
            for cause in causes_at(context, steps=(found.op, found.reader)):
                if cause is not None:
                    yield self._finding(context, found, cause)

    def _finding(self, context: Context, found: BroadcastReduced, cause: Cause) -> Finding:
        op, kernel, name = (
            found.op,
            found.reader.kernel.name,
            tensor_name(found.reader.tensor(found.load.base), "the result"),
        )
        wide = " x ".join(map(str, found.shape))
        operands = [f"`{tensor_name(t, 'an operand')}`" for t in op.reads]
        size = (found.wide.nbytes or 0) / 1e6
        small = sum(t.nbytes or 0 for t in op.reads) / 1e6
        what = "" if name.startswith("the ") else f" of `{name}`"
        how = f"form and reduce the elements{what} in registers"
        if found.by_dot and _is_product(found):
            less = (
                ", and subtract twice the product from the squared norms of the rows"
                if squares_differences(found)
                else ""
            )
            how = f"multiply the tiles with `tl.dot`{less}"
        return self.finding(
            f"torch `{op.name}` writes out {wide} elements of broadcast operands that `{kernel}` reduces over the last axis",
            op.span, blamed(context.workload, (op, found.reader)),
            (
                Evidence(f"{listed(operands)}, {small:.2f} MB, are broadcast to [{wide}], {size:.1f} MB", op.span),
                Evidence(f"`{kernel}` alone reads that, one row of {found.depth} elements for each result", found.load.span),
                Evidence(f"{found.reduce.op} over the row", found.reduce.span),
            ),
            Change(
                None,
                f"{name.capitalize() if not what else f'`{name}`'} [{wide}] goes through memory, {2 * size:.1f} MB written and read, "
                f"though its operands have {small:.2f} MB.",
                f"Let `{kernel}` read {listed(operands)} themselves: {how}.",
                f"Drop the call at line {op.span.line}. Give a program of `{kernel}` a tile of results: load the tiles of "
                f"{listed(operands)} that it needs, a part of {found.depth} elements at a time; {how}; store the tile.",
            ),
            cause, kernel=kernel,
        )  # fmt: skip


def _is_product(found: BroadcastReduced) -> bool:
    """Whether what is summed is a product of the operands, or the square of their difference: an element times itself."""
    if sums_products(found):
        return True
    if not squares_differences(found):
        return False
    (square,) = (node for node in found.mapped if node.kind != "cast")
    return any(value.op == "*" and value.span == square.span for value in found.reader.kernel.values or ())
