from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.workload import Expr, Kernel, Lane, Opaque


class OneAddressTile(Rule):
    code = "KL309"
    name = "one-address-tile"
    severity = "info"
    bare = True
    summary = "a scalar is loaded as a tile of pointers that are all the same"
    what_it_does = "Finds `tl.load` of a tile in which every lane has the same address."
    why = """
        Every thread computes an address, checks a mask and issues a load for one value. A scalar load does it once, and the value
        is broadcast in the arithmetic.
        """
    when_not = "Never needed: a scalar broadcasts."
    fix_safety = "Safe, unless the mask of the lanes differs: then the masked lanes need a `tl.where`."
    evidence = "No time of our own: a few instructions per thread. Pattern row PERF-049."

    bad = """
        @triton.jit
        def scale(x, s, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            factor = tl.load(s + tl.zeros((BLOCK,), tl.int32))
            tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)
        """
    good = bad.replace("tl.load(s + tl.zeros((BLOCK,), tl.int32))", "tl.load(s)")
    launch = "scale[(triton.cdiv(x.numel(), 1024),)](x, s, y, x.numel(), BLOCK=1024)"
    takes = "x, s"
    inputs = "torch.randn(1024, 1024), torch.randn(1)"
    example = "factor = tl.load(s + tl.zeros((BLOCK,), tl.int32))"
    use_instead = "factor = tl.load(s)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for load in launch.kernel.loads():
                offset = load.offset
                if offset is None or load.elements < 32 or load.mask is not None or load.span in seen:
                    continue
                if not _is_one(offset, launch.kernel):
                    continue
                seen.add(load.span)
                kernel = launch.kernel.name
                yield self.finding(
                    f"`{kernel}` loads one value of `{load.base}` through {load.elements} equal pointers",
                    load.span,
                    kernel,
                    (Evidence(f"every lane reads {load.base} + {offset}", load.span),),
                    Change(
                        None,
                        f"Every thread of `{kernel}` computes the same address and loads the same value of `{load.base}`.",
                        "Load the value once, as a scalar.",
                        f"At line {load.span.line} load from the pointer itself, without the tile added to it.",
                        priced=False,
                    ),
                )


def _is_one(offset: Expr, kernel: Kernel) -> bool:
    """Whether ``offset`` is the same for every lane: made of sizes, indices and values that scalar loads of ``kernel`` read."""
    scalars = {load.id for load in kernel.loads() if load.elements == 1}
    return not any(
        isinstance(atom, Lane)
        or (isinstance(atom, Opaque) and (atom.op == "unknown" or (atom.op == "load" and atom.key not in scalars)))
        for atom in offset.atoms()
    )
