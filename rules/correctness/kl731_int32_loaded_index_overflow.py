from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.overflow import LOADED, WIDENED, overflows, possible
from kernlint.rules.finding import Context, Finding


class Int32LoadedIndexOverflow(Rule):
    code = "KL731"
    name = "int32-loaded-index-overflow"
    severity = "info"
    summary = "an index read from memory as int32 is multiplied by a stride in 32 bits"
    bare = True
    what_it_does = """
        Finds an index that is loaded (a page, slot or expert number) and multiplied by a stride of open size before
        it is widened, on its way into an address. At info level, once a kernel: how many entries the table has is
        rarely in view.
        """
    why = """
        A page number times a page stride passes 2^31 after a few thousand pages: 276000 elements a page overflow at
        page 7782. The wrapped product addresses other memory.
        """
    when_not = "Tables of int64 (torch.long). Products with a small constexpr."
    fix_safety = WIDENED
    evidence = """
        The row's TTIR (Triton 3.9.0) shows a 32-bit `muli`. Pattern row BUG-002. No gain: wrong results have no
        speed.
        """
    references = (
        "https://github.com/vllm-project/vllm/issues/47671",
        "https://github.com/triton-lang/triton/issues/10489",
    )

    bad = """
        @triton.jit
        def k(table, kv, o, page_stride, B: tl.constexpr):
            i = tl.program_id(0)
            page = tl.load(table + i)
            c = tl.arange(0, B)
            tl.store(o + i * B + c, tl.load(kv + page * page_stride + c))
        """
    good = bad.replace("+ i)", "+ i).to(tl.int64)")

    def check(self, context: Context) -> Iterable[Finding]:
        found = [one for one in overflows(context.workload) if one.value is None and one.kind == LOADED]
        yield from possible(self, context, found, "the product")
