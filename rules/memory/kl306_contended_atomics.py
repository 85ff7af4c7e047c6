from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom import kernels
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.memory.address_runs import REDUCTIONS, AddressRuns, address_runs
from kernlint.rules.memory.few_bins import CountedBins, FewBins, few_bins, loaded_from
from kernlint.rules.proofs.indices import always_run
from kernlint.rules.proofs.pricing import best_gain, causes_at
from kernlint.workload import (
    Atomic,
    Dot,
    Launch,
    Store,
    concrete,
)
from kernlint.workload.expr import Lane
from kernlint.workload.synthesis import power_of_two

#: Least predicted gain for bins, whose contention depends on the data: values may all be alike, or spread evenly.
_LEAST_GAIN_OF_BINS = 2.0
#: Blocks that a program may count.
_BLOCKS = (1, 4, 16)


class ContendedAtomics(Rule):
    code = "KL306"
    name = "contended-atomics"
    summary = "every program, or every lane of a block, adds to the same few addresses with atomics"
    what_it_does = """
        Finds `tl.atomic_add`, `atomic_max` and `atomic_min` whose address depends on no program id and whose result is not
        used, so that all programs of the grid queue for the same addresses. Likewise one atomic for each element of a block
        where neighbouring elements go to one address, as their flat index is divided by the length of a run
        (`y + i // length % channels`), and one atomic for each element that counts it in one of few bins which it has read
        from memory, if a sum in the program first is predicted to be faster.
        """
    why = """
        Atomics on one address are done one after the other in the L2, about 2 ns each: 100,000 programs take 0.2 ms for that
        alone, whatever the SMs do. Fewer programs that add up in registers first need one atomic, or one partial sum, each.
        The lanes of a warp that meet in one address queue in the same way, 32 for one request.
        """
    when_not = """
        Atomics spread over many addresses (large histograms, scatter, split-K tiles). Counters and locks whose old value is used.
        Grids of a few hundred programs: the estimate decides.
        """
    fix_safety = """
        Float sums are added in another order, and then always in the same one. `kernlint fix --unsafe-fixes` writes kernels anew from
        a reference; without one there is no automatic fix.
        """
    evidence = """
        H100: scalar atomics by number of addresses (`atomic_scalar`) and tiles of them (`atomic_block`) in
        `calibration/facts/h100-micro.csv`. Pattern rows PERF-045, PERF-046.
        """

    bad = """
        @triton.jit
        def total(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))
        """
    good = bad.replace("tl.atomic_add(y,", "tl.store(y + tl.program_id(0),")
    launch = "total[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)"
    good_launch = f"{launch.replace('128', '16384')}\n                y = y.sum()"
    makes = "y = torch.zeros(1, device=x.device, dtype=torch.float32)"
    good_makes = makes.replace("zeros(1,", "empty(triton.cdiv(x.numel(), 16384),")
    inputs = "torch.randn(1 << 26)"
    example = "tl.atomic_add(y, tl.sum(x, axis=0))"
    use_instead = "tl.store(partial + tl.program_id(0), tl.sum(x, axis=0))  # then partial.sum()"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.launches():
            runs = address_runs(launch)
            if runs is not None:
                yield from self._of_runs(context, runs)
                continue
            bins = few_bins(launch)
            if bins is not None:
                yield from self._of_bins(context, bins)
                continue
            atomic = None if launch.autotuned or not launch.kernel.complete else _contended(launch)
            few = launch.programs is not None and launch.programs <= context.device.sm_count
            if atomic is not None and not few:
                yield from self._of_all(context, launch, atomic)

    def _of_all(self, context: Context, launch: Launch, atomic: Atomic) -> Iterable[Finding]:
        """The finding on an ``atomic`` that all programs send to the same addresses."""
        kernel, name = launch.kernel.name, launch.name_of(atomic.base)
        what = "one address" if atomic.elements == 1 else f"the same {atomic.elements} addresses"
        grid = "all programs" if launch.programs is None else f"{launch.programs} programs"
        change = Change(
            None,
            f"{grid} of `{kernel}` send their atomic_{atomic.op} to {what} of `{name}`, where the L2 does one after the other.",
            "Let a few programs for each SM loop over the work, add up in registers, and store one partial result each; reduce the partial "
            "results in a second step.",
            f"Launch a few programs for each SM that stride over the blocks, replace the tl.atomic_{atomic.op} by a tl.store to "
            f"`partial[programs, {atomic.elements}]` after the loop, and reduce `partial` over its first axis.",
        )
        for cause in causes_at(context, kernel, names=(kernels.ATOMICS,)):
            yield self.finding(
                f"{grid} of `{kernel}` add to {what} of `{name}` with atomics", atomic.span, kernel,
                (Evidence(f"the address of the atomic_{atomic.op} does not depend on a program id", atomic.span),), change, cause,
                kernel=kernel,
            )  # fmt: skip

    def _of_runs(self, context: Context, found: AddressRuns) -> Iterable[Finding]:
        """The finding on an atomic whose neighbouring lanes go to one address."""
        launch, atomic, run = found.launch, found.atomic, found.run
        kernel, name = launch.kernel.name, launch.name_of(atomic.base)
        what = f"{run} neighbouring elements" if run < found.count else f"all {found.count} elements"
        made = {"add": "sum", "max": "maximum", "min": "minimum"}[atomic.op]
        change = Change(
            None,
            f"{what} go to one address of `{name}`, each by an atomic_{atomic.op} of its own, so that the lanes of a warp queue "
            "in the L2.",
            f"Form the {made} of the elements of one address in registers and send one atomic_{atomic.op} for it.",
            f"Let each program walk over elements of one address alone, form their {made} in registers (mask the rest of a block that the "
            f"run of {run} does not fill), and send one scalar atomic_{atomic.op} with the result.",
        )
        for cause in causes_at(context, kernel, names=(kernels.ATOMICS,)):
            if cause is not None:
                yield self.finding(
                    f"`{kernel}` sends one atomic_{atomic.op} for each of {found.count} elements, {run} neighbours to "
                    f"one address of `{name}`", atomic.span, kernel,
                    (Evidence(f"the address is {str(atomic.offset)[:90]}, the same for {run} neighbours", atomic.span),), change, cause,
                    kernel=kernel,
                )  # fmt: skip

    def _of_bins(self, context: Context, found: FewBins) -> Iterable[Finding]:
        launch, atomic = found.launch, found.atomic
        extent = concrete(launch.grid[found.axis]) if found.axis is not None else None
        counts = [blocks for blocks in _BLOCKS if blocks == 1 or (extent is not None and blocks < extent)]
        options = {context.variant.then(transform=CountedBins(launch.span, blocks)): blocks for blocks in counts}
        best = best_gain(context, options, _LEAST_GAIN_OF_BINS)
        if best is None:
            return
        kernel, blocks = launch.kernel.name, options[best]
        name = launch.name_of(atomic.base)
        load = loaded_from(found)
        source = launch.name_of(load.base) if load is not None else "memory"
        more = f"{blocks} blocks" if blocks > 1 else "its block"
        change = Change(
            best,
            f"each element of `{kernel}` sends an atomic_add of its own to one of {found.bins} addresses of `{name}`, where those "
            "to one cache line wait for each other in the L2.",
            f"Count in each program first, with `tl.histogram`, and add {found.bins} sums a program.",
            f"Let each program count {more} with `tl.histogram(index, {power_of_two(found.bins)})`, add the counts up in registers (less "
            f"what masked lanes were counted as), and send one block of {found.bins} atomic_adds at the end, masked to the sums that "
            "are not zero.",
        )
        yield self.finding(
            f"`{kernel}` sends one atomic_add for each element to {found.bins} addresses of `{name}` that it reads "
            f"from `{source}`", atomic.span, kernel,
            (
                Evidence(f"the address comes from `{source}`, and a program can go to {found.bins} addresses alone", atomic.span),
                Evidence("all lanes add the same number, and nobody uses the old value", atomic.span),
            ),
            change,
        )  # fmt: skip


def _contended(launch: Launch) -> Atomic | None:
    """The one reduction by atomics of a 1-D grid to addresses that all programs share; None where there is none, more than
    one, or where the old value is used."""
    kernel = launch.kernel
    atomics = kernel.nodes(Atomic)
    if len(atomics) != 1 or kernel.has(Dot) or len(launch.grid) != 1:
        return None
    atomic = atomics[0]
    if atomic.op not in REDUCTIONS or atomic.offset is None:
        return None
    plain = [(node, loops) for node, loops in always_run(kernel, Atomic) if node is atomic]
    if atomic.elements > 1 and not any(isinstance(atom, Lane) for atom in atomic.offset.atoms()):
        return None  # one address for the whole block, not one for each lane
    if not plain or plain[0][1] or not set(atomic.offset.atoms()) <= {Lane(d) for d in range(len(atomic.shape))}:
        return None
    used = any(atomic.id in getattr(node, "depends", ()) for node, _ in kernel.walk() if node is not atomic)
    written = any(isinstance(node, Store) for node, _ in kernel.walk())
    return None if used or written else atomic
