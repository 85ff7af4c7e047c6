from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernlint.interpret.triton.reading import ASSUMED_CONSTEXPR
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.bounds import followed, sizes_told
from kernlint.rules.proofs.iteration_domain import Point, Site, Space, open_symbols, samples, sites, told
from kernlint.rules.repair import mending
from kernlint.workload import Launch, Workload
from kernlint.workload.expr import Atom, concrete

#: A shift back by more than this, in a kernel whose constexprs are open, is made of them.
_ASSUMED_SHIFT = ASSUMED_CONSTEXPR // 2


class AccessBeforeStart(Rule):
    code = "KL741"
    name = "access-before-start"
    severity = "error"
    summary = "an access reaches elements before the start of its tensor"
    bare = True
    what_it_does = """
        Finds the smallest offset that a lane inside the mask touches, and reports those below the start of the
        tensor, with the program and lane. `tl.where` around a load does not keep it from being made.
        """
    why = """
        The load of element -1 is made whatever `tl.where` selects afterwards: it reads the end of another allocation,
        or faults on a page boundary.
        """
    when_not = """
        Arguments that are views into a larger buffer, so that there is memory before them. Loads whose own mask
        leaves the lane out.
        """
    fix_safety = """
        No automatic fix: `& (index >= 0)` in the mask leaves lanes undefined where the load has no `other` and no `tl.where` around it.
        """
    evidence = """
        The row's run with a guard page before the tensor: the bad version faults, the good one does not (Triton
        3.9.0). Pattern row BUG-012. No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/vllm-project/vllm-ascend/issues/16275",
        "https://github.com/vllm-project/vllm-ascend/issues/8531",
    )

    bad = """
        @triton.jit
        def k(cu, o, n, B: tl.constexpr):
            i = tl.arange(0, B)
            prev = tl.where(i == 0, 0, tl.load(cu + i - 1, mask=i < n, other=0))
            cur = tl.load(cu + i, mask=i < n, other=0)
            tl.store(o + i, cur - prev, mask=i < n)
        """
    good = bad.replace(
        "tl.where(i == 0, 0, tl.load(cu + i - 1, mask=i < n, other=0)",
        "tl.load(cu + i - 1, mask=(i > 0) & (i < n), other=0",
    )

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            for site in sites(launch.kernel):
                access = site.access
                if (launch.kernel.name, access.span) in seen or site.masked or site.open or access.checked:
                    continue
                if access.offset is None or not access.offset.is_followed:
                    continue
                tensor = launch.tensor(access.base)
                start = concrete(tensor.offset) if tensor is not None else 0
                if start is None or (tensor is not None and not followed(launch)):
                    continue
                if start >= 0 and access.offset.is_natural:
                    continue
                reached = _reached(context.workload, launch, site, start)
                if reached is not None:
                    sizes, value, point = reached
                    moved = any(point.get(atom) for atom in access.offset.atoms())
                    if launch.kernel.assumed and (moved or value < -_ASSUMED_SHIFT):
                        continue  # how constexprs that nobody has given relate to each other is not in view
                    seen.add((launch.kernel.name, access.span))
                    given = f" where {sizes_told(sizes)}" if sizes else ""
                    yield self.finding(
                        f"the access to `{access.base}` reaches element {value}, before the start of the tensor",
                        access.span,
                        launch.kernel.name,
                        (Evidence(f"{told(point)} touches element {value}{given}", access.span),),
                        mending(
                            context,
                            None,
                            f"the access to `{access.base}` reaches element {value}",
                            "Put the condition into the mask; `tl.where` around the load does not keep it from being made.",
                            f"Add `& (index >= 0)` to the mask at line {access.span.line}.",
                        ),
                        at_any_size=not sizes,
                        severity=self.severity if not sizes else "warning",
                    )


def _reached(
    workload: Workload, launch: Launch, site: Site, start: int
) -> tuple[Mapping[Atom, int], int, Point] | None:
    """The element before the start, of a view that begins at ``start``, that the access at ``site`` reaches, with sizes and a
    point for which it does. With open sizes only a constant shift counts, the same for all: how sizes relate is not in
    view."""
    first: tuple[Mapping[Atom, int], int, Point] | None = None
    assert site.access.offset is not None
    for sizes in samples(workload, open_symbols(launch, site), launch):
        found = Space(launch, site, sizes).smallest(site.access.offset, enough=-start)
        if found is None:
            continue
        value, point = found
        if value + start >= 0 or (first is not None and value != first[1]):
            return None
        first = first or (sizes, value, point)
    return first
