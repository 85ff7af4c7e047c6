from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.against_reference import (
    HOW_COMPARED,
    HOW_MEASURED,
    WHEN_UNSURE,
    Difference,
    numbers,
    of_kind,
)
from kernlint.rules.finding import Context, Finding


class OtherElementsRead(Rule):
    code = "KL768"
    name = "other-elements-read"
    severity = "error"
    summary = "an element of the result is made of other elements of the inputs than in the reference"
    what_it_does = f"""
        Finds elements of the result for which other elements of the inputs are read than the reference makes them of,
        and that differ: a sum over one tile only, along another axis, of a row beside. {HOW_COMPARED}
        """
    why = """
        The program computes another function.
        """
    when_not = f"""
        None that is known. {WHEN_UNSURE}
        """
    fix_safety = "No automatic fix: which of the two is meant, only the author knows."
    evidence = HOW_MEASURED

    bad = """
        class Model(torch.nn.Module):
            def forward(self, x):
                return x.sum(dim=1)

        @triton.jit
        def rows(x, y, n, BLOCK: tl.constexpr):
            row, i = tl.program_id(0), tl.arange(0, BLOCK)
            v = tl.load(x + row * n + i, mask=i < n, other=0.0)
            tl.store(y + row, tl.sum(v, axis=0))
        """
    good = bad.replace(
        "v = tl.load(x + row * n + i, mask=i < n, other=0.0)\n",
        """total = tl.zeros([BLOCK], tl.float32)
            for start in range(0, n, BLOCK):
                total += tl.load(x + row * n + start + i, mask=start + i < n, other=0.0)\n""",
    ).replace("tl.sum(v,", "tl.sum(total,")
    launch = "rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=512)"
    makes = "y = torch.empty(x.shape[0], device=x.device)"
    inputs = "torch.randn(1000, 1000)"
    example = "v = tl.load(x + row * n + i, mask=i < n, other=0.0)  # 512 of 1000 elements"
    use_instead = "for start in range(0, n, BLOCK): total += tl.load(x + row * n + start + i, ...)"

    def check(self, context: Context) -> Iterable[Finding]:
        def said(difference: Difference, name: str) -> str:
            witness = difference.witness
            assert witness is not None
            parts = []
            for path in sorted(witness.reads[0].keys() | witness.reads[1].keys()):
                theirs, ours = (side.get(path, frozenset()) for side in witness.reads)
                if len(theirs) != len(ours):
                    parts.append(f"{len(ours)} elements of `{path}`, in the reference of {len(theirs)}")
                elif theirs != ours:
                    parts.append(f"other elements of `{path}` than in the reference")
            return f"an element of {name} is made of {' and of '.join(parts)}: {numbers(witness)}"

        return of_kind(self, context, "elements", said)
