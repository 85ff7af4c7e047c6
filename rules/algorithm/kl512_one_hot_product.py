from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.one_hot import OneHotProduct, one_hot_products
from kernlint.rules.base import MATMUL, WRITTEN_ANEW, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.wording import listed
from kernlint.workload import Launch


class OneHotProductRule(Rule):
    code = "KL512"
    name = "one-hot-product"
    operator = "generate"
    silent_if_open = True
    summary = "rows that are one-hot are multiplied with a table, where a gather gives the same"
    what_it_does = """
        Finds matrix products, by `tl.dot` in a loop of a kernel or by torch, whose left operand has a single one in each row,
        made in the same call from class numbers: zeros and `scatter_` of the number one, `F.one_hot`, or a comparison with
        `torch.arange`, perhaps converted. Nothing else may read the one-hot rows.
        """
    why = """
        A row of zeros with a one in it picks a row of the table. The product reads all of the table for each tile of rows
        and multiplies by zero; the one-hot rows alone are often larger than table and result together, and are written and
        read. A gather reads the row that the class number names.
        """
    when_not = """
        One-hot rows that are returned, averaged or used by anything else. More than one class for a row. A change that is not
        predicted to be faster.
        """
    fix_safety = (
        WRITTEN_ANEW + "Class numbers outside of the table give zeros or an error now, and would read beyond it."
    )
    evidence = """
        H200, 65,536 rows of 2,048 classes, 256 halves wide: 255 us with `scatter_` and `tl.dot`, 11 us with the rows loaded by
        their number; 1,024 rows of 512 classes: 12 us and 1.3 us (`evals/2026-11-28-sixth/vq-onehot-lookup`).
        """

    bad = MATMUL
    good = """
        @triton.jit
        def look_up(ids, b, c, N: tl.constexpr, BM: tl.constexpr):
            m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, N)
            row = tl.load(ids + m)
            tl.store(c + m[:, None] * N + n[None, :], tl.load(b + row[:, None] * N + n[None, :]))

        """
    launch = """classes, width = table.shape
                rows = torch.nn.functional.one_hot(ids, classes).to(table.dtype)
                grid = (ids.shape[0] // 128, width // 128)
                matmul[grid](rows, table, c, width, classes, BM=128, BN=128, BK=64, num_warps=8)"""
    good_launch = "look_up[(ids.shape[0] // 16,)](ids, table, c, N=table.shape[1], BM=16)"
    takes = "ids, table"
    makes = "c = torch.empty(ids.shape[0], width, device=ids.device, dtype=table.dtype)"
    good_makes = "c = torch.empty(ids.shape[0], table.shape[1], device=ids.device, dtype=table.dtype)"
    inputs = "torch.randint(0, 4096, (16384,)), torch.randn(4096, 256, dtype=torch.float16)"
    example = "rows = F.one_hot(ids, classes).to(table.dtype)\nmatmul[grid](rows, table, out, ...)"
    use_instead = "row = tl.load(ids + m)\nvalues = tl.load(table + row[:, None] * width + n[None, :])"

    def check(self, context: Context) -> Iterable[Finding]:
        for found in one_hot_products(context):
            kernel = found.reader.kernel.name if isinstance(found.reader, Launch) else ""
            for cause in causes_at(context, kernel, (*found.ops, found.reader)):
                yield self._finding(found, cause)

    def _finding(self, found: OneHotProduct, cause: Cause | None) -> Finding:
        last, reader = found.ops[-1], found.reader
        by = f"`{reader.kernel.name}`" if isinstance(reader, Launch) else f"torch `{reader.name}`"
        count, classes = found.rows.shape or ("?", "?")
        return self.finding(
            f"{by} multiplies {count} one-hot rows of {classes} classes with `{tensor_name(found.table, 'a table')}`",
            last.span, last.function,
            (
                Evidence(f"each row is zeros but for a one at `{tensor_name(found.ids, 'its class number')}`", found.ops[0].span),
                Evidence(f"{by} alone reads the rows, as the left operand of its product", reader.span),
            ),
            _change(found), cause, kernel=reader.kernel.name if isinstance(reader, Launch) else "",
        )  # fmt: skip


def _change(found: OneHotProduct) -> Change:
    reader, table = found.reader, tensor_name(found.table, "the table")
    ids = tensor_name(found.ids, "the class numbers")
    size = f", {found.rows.nbytes / 1e6:.1f} MB" if found.rows.nbytes else ""
    lines = listed([str(line) for line in dict.fromkeys(op.span.line for op in found.ops)])
    plural = "s" if " " in lines else ""
    if isinstance(reader, Launch):
        how = (
            f"Let `{reader.kernel.name}` load the numbers of its rows and then those rows of `{table}`, "
            "in place of the loop over the classes."
        )
        plan = (
            f"Drop the call{plural} at line{plural} {lines}; pass `{ids}` to `{reader.kernel.name}`, load the class numbers of its rows "
            f"and `{table} + number[:, None] * stride + columns[None, :]` in place of the loop with `tl.dot`; the rest stays."
        )
    else:
        how = f"Gather the rows: `{table}[{ids}]`."
        plan = f"Drop the call{plural} at line{plural} {lines} and write `{table}[{ids}]` at line {reader.span.line}."
    return Change(
        None,
        f"The one-hot rows{size} are written and read, and all of `{table}` is multiplied with them, to pick a row for each.",
        how,
        plan,
    )
