"""Causes in words: what is the matter, what to do about it, and what the call would look like then."""

from __future__ import annotations

from kernlint.headroom.causes import OTHER, Cause
from kernlint.headroom.headroom import Headroom, described

#: What each cause is, in a clause.
SAID = {
    "sync": "the host waits for the device",
    "launches in a Python loop": "a Python loop launches again and again what one launch could do",
    "launches step by step": "each step is a launch of its own that takes up what the one before wrote to memory",
    "unused result": "a result is written that nobody reads",
    "copies": "data is copied or converted in memory before it is used",
    "round trips": "steps that could share a kernel pass their results on through memory",
    "needless product": "a matrix product does what takes no product",
    "no tensor cores": "a product is made without the tensor cores",
    "unit": "arithmetic runs in a wider type than its operands need",
    "extra operations": "a kernel computes far more than the result takes",
    "repeated reads": "the same bytes are read more than once",
    "sectors": "memory moves more bytes than are wanted",
    "atomics": "atomic updates wait for each other",
    "idle lanes": "what lies outside the masks is worked on all the same",
    "spills": "tiles that do not fit the registers go through memory",
    "few programs": "too few programs keep the GPU busy",
    "many programs": "programs do too little for what starting them costs",
    "serial steps": "a program walks through its data step by step",
    "exchange": "the warps of a program exchange parts of results through shared memory",
    "latency": "programs wait for memory with too little in flight",
    "tile": "the tile, its warps or its pipeline do not suit the product",
    OTHER: "well-written kernels for the same computation take far less",
}

#: What to do about each cause.
METHOD = {
    "sync": "Keep the value on the device: pass the tensor and load the number inside the kernel.",
    "launches in a Python loop": "Make the loop an axis of the grid: one launch for all rounds.",
    "launches step by step": "Do all steps in one launch whose programs keep what is handed on in registers or shared memory.",
    "unused result": "Leave the result out, or allocate it without filling it.",
    "copies": "Read the data where and as it lies, inside the kernel that uses it.",
    "round trips": "Do the steps in one kernel, so that what they hand on stays on chip.",
    "needless product": "Replace the product by the indexing or elementwise work that it stands for.",
    "no tensor cores": "Write the product as `tl.dot` on tiles.",
    "unit": "Feed operands in the type they are stored in and let the accumulator be wide.",
    "extra operations": "Do what takes fewer operations: search what is sorted, form once what many results share.",
    "repeated reads": "Read each byte once: keep it on chip, or form what the later passes need in the first.",
    "sectors": "Let neighbouring lanes read and write neighbouring addresses.",
    "atomics": "Reduce inside each program first and leave one update, or a partial result, for each.",
    "idle lanes": "Choose blocks that fit the data, and bounds of loops that leave out what is masked anyway.",
    "spills": "Take smaller blocks, in a loop where rows are long, or more warps.",
    "few programs": "Split the work over more programs.",
    "many programs": "Give each program more to do: larger blocks, fewer programs, none that return at once.",
    "serial steps": "Work on whole blocks of steps at a time, with a scan where results carry on.",
    "exchange": "Launch fewer warps a program: each thread then sums up more by itself.",
    "latency": "Keep more loads in flight: larger blocks, pipelined loops, more programs.",
    "tile": "Choose the tile, warps and stages for this shape, or let the autotuner do it.",
    OTHER: "Write it as kernels of known good forms.",
}


def message(cause: Cause) -> str:
    """The cause in one clause, with the function to blame and the numbers behind it."""
    return f"`{cause.symbol}`: {SAID[cause.name]}" + (f" ({cause.evidence})" if cause.evidence else "")


def advice(cause: Cause, headroom: Headroom) -> tuple[str, str, str]:
    """(bottleneck, method, plan) of the change for the sake of ``cause``."""
    said = SAID[cause.name]
    about = f" ({cause.evidence})" if cause.evidence else ""
    share = cause.alone_us / headroom.now_us * 100
    bottleneck = (
        f"{said[0].upper()}{said[1:]}{about}: removed alone it would save about {cause.alone_us:.1f} us, {share:.0f} % of the "
        f"call."
    )
    largest = max(headroom.witnesses, key=lambda witness: witness.us, default=None)
    plan = f"1. In `{cause.symbol}` (line {cause.span.line}): {METHOD[cause.name]}"
    if largest is not None:
        plan += (
            f"\n2. Aim at {headroom.achievable_us:.1f} us for the call ({headroom.low_us:.1f} to {headroom.high_us:.1f}); a "
            f"well-written version: {described(largest)}."
        )
    plan += "\n3. Check it against the reference, then measure: `kernlint verify` does both."
    return bottleneck, METHOD[cause.name], plan
