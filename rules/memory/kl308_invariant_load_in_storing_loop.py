from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.workload import Access, Branch, Launch, Load, Loop, LoopIndex, Store, Tensor


class InvariantLoadInStoringLoop(Rule):
    code = "KL308"
    name = "invariant-load-in-storing-loop"
    severity = "info"
    silent_if_open = True
    summary = "a loop that stores loads the same tile again in every iteration"
    what_it_does = """
        Finds loads of a tile whose addresses do not depend on the loop around them, in a loop that also stores, from a tensor that
        the kernel never writes and that the launch does not also pass under another name.
        """
    why = """
        The compiler moves an invariant load out of a loop only when nothing in the loop may write memory. With a store in it,
        the tile is fetched again in every iteration.
        """
    when_not = "Loops without stores, where the compiler does it. Tiles so large that keeping them spills registers."
    fix_safety = "Safe: nothing writes the tensor in between. One more tile is live through the loop."
    evidence = "No time of our own, and no price: how many of the repeated loads the L1 serves is not measured. Pattern row PERF-039."

    bad = """
        @triton.jit
        def scale_rows(x, w, y, M, N, BLOCK: tl.constexpr):
            c = tl.arange(0, BLOCK)
            for r in range(tl.program_id(0), M, tl.num_programs(0)):
                weight = tl.load(w + c, mask=c < N)
                tl.store(y + r * N + c, tl.load(x + r * N + c, mask=c < N) * weight, mask=c < N)
        """
    good = bad.replace(
        "for r in range(tl.program_id(0), M, tl.num_programs(0)):\n                weight = tl.load(w + c, mask=c < N)",
        "weight = tl.load(w + c, mask=c < N)\n            for r in range(tl.program_id(0), M, tl.num_programs(0)):",
    )
    launch = "scale_rows[(132,)](x, w, y, x.shape[0], x.shape[1], BLOCK=4096, num_warps=8)"
    takes = "x, w"
    inputs = "torch.randn(16384, 4096), torch.randn(4096)"
    example = "for r in range(...):\n    weight = tl.load(w + c)\n    tl.store(y + ..., tl.load(x + ...) * weight)"
    use_instead = "weight = tl.load(w + c)\nfor r in range(...):\n    tl.store(y + ..., tl.load(x + ...) * weight)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for load, loop in _invariant(launch):
                if load.span in seen:
                    continue
                seen.add(load.span)
                kernel = launch.kernel.name
                name = launch.name_of(load.base)
                yield self.finding(
                    f"`{kernel}` loads the same tile of `{name}` in each iteration of a loop that stores",
                    load.span,
                    kernel,
                    (
                        Evidence(f"the addresses {load.offset} do not depend on the loop", load.span),
                        Evidence("the loop stores, so the compiler may not move the load", loop.span),
                        Evidence(f"no store of the kernel writes `{name}`", launch.span),
                    ),
                    Change(
                        None,
                        f"Each iteration of `{kernel}` fetches a tile of `{name}` that it already had in the one before.",
                        f"Load the tile of `{name}` once, before the loop.",
                        f"Move the load at line {load.span.line} above the loop at line {loop.span.line}.",
                        # How much of it the L1 serves is not measured: no number.
                        priced=False,
                    ),
                )


def _invariant(launch: Launch) -> Iterator[tuple[Load, Loop]]:
    """The loads of tiles that could stand before the loop they are in, with that loop."""
    kernel = launch.kernel
    if not kernel.complete:
        return
    written = {node.base for node in kernel.nodes(Access) if not isinstance(node, Load)}
    storages = [v.storage.id for v in launch.arguments.values() if isinstance(v, Tensor)]
    for loop in kernel.nodes(Loop):
        stores = any(isinstance(node, Store) for node in loop.body)
        if not stores or loop.kind == "while" or any(isinstance(node, Branch) for node in loop.body):
            continue
        for load in loop.body:
            tensor = launch.tensor(load.base) if isinstance(load, Load) else None
            if not isinstance(load, Load) or load.elements == 1 or load.base in written or tensor is None:
                continue
            if storages.count(tensor.storage.id) == 1 and load.mask_known and _stays(load, loop):
                yield load, loop


def _stays(load: Load, loop: Loop) -> bool:
    """Whether address and mask of ``load`` are the same in all iterations of ``loop``."""
    if load.offset is None:
        return False
    return all(expr.is_followed and LoopIndex(loop.id) not in expr.atoms() for expr in load.expressions)
