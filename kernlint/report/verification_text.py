"""A verification as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.verdict.speedup import format_us
from kernlint.verify.lowering import instruction
from kernlint.verify.result import CaseResult, KernelBinary, Timing, Verification

_MARKS = {"correct": "ok", "incorrect": "WRONG", "failed": "FAILED", "not_checkable": "?", "skipped": "-"}


def render(found: Verification) -> str:
    """Lines for a terminal, with a line end; the first one is the answer."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Verification) -> Iterator[str]:
    where = found.machine or (found.target if found.backend == "compile" else "CPU")
    yield f"{found.outcome.replace('_', ' ')}: {found.summary}"
    change = found.change.file or "the fix of " + ", ".join(found.change.rules)
    numerics = found.change.numerics + (f" ({found.change.format})" if found.change.format else "")
    yield f"  change     {change}; numerics {numerics}"
    yield f"  backend    {found.backend} on {where}; torch {found.torch}, triton {found.triton}"
    if found.reference:
        yield f"  compared   with {found.reference}"
    yield from (f"  {_case(case)}" for case in found.cases)
    yield from _times(found)
    yield from (f"  {_kernel(kernel)}" for kernel in found.kernels)
    yield from (f"  note       {note}" for note in found.notes)


def _case(case: CaseResult) -> str:
    sizes = " ".join(f"{name}={value}" for name, value in case.sizes.items())
    label = case.name if not sizes or case.name.endswith(sizes) else f"{case.name} ({sizes})"
    text = f"{_MARKS[case.outcome]:<10} {label}"
    if case.error_after is not None:
        before = "" if case.error_before is None else f" (before {case.error_before:.1e})"
        text += f": error {case.error_after:.1e}{before}"
        text += "" if case.factor is None else f", factor {case.factor:.6f}"
    said = "; ".join(part for part in (case.message, case.note) if part)
    return f"{text}: {said}" if said else text


def _times(found: Verification) -> Iterator[str]:
    timings = found.timings
    if timings is not None:
        rows = (("gpu", timings.gpu), ("gpu cold", timings.gpu_cold), ("call", timings.call))
        for label, row in rows:
            if row is not None:
                yield f"  {label:<10} {_timing(row)}"
        if not timings.captured:
            yield "  note       the call cannot be captured in a CUDA graph: gpu times hold its gaps"
        yield f"  memory     peak {_mb(timings.peak_bytes_before)} before, {_mb(timings.peak_bytes_after)} after"
    for scope, said in found.predictions.items():
        if said.before_us is not None and said.after_us is not None and said.speedup is not None:
            interval = "" if said.low is None or said.high is None else f" ({said.low:.2f}-{said.high:.2f})"
            yield f"  predicted  {scope}: {format_us(said.before_us)} to {format_us(said.after_us)} us, {said.speedup:.2f}x{interval}"


def _timing(row: Timing) -> str:
    return (
        f"{format_us(row.before_us)} us before, {format_us(row.after_us)} us after: {row.speedup:.2f}x "
        f"({row.low:.2f}-{row.high:.2f}, {row.samples} pairs)"
    )


def _mb(count: int) -> str:
    return f"{count / 2**20:.1f} MB"


def _kernel(kernel: KernelBinary) -> str:
    head = f"{kernel.version:<10} {kernel.kernel}: "
    if kernel.error:
        return f"{head}does not compile: {kernel.error}"
    loads = ", ".join(f"{count} x {width} B" for width, count in kernel.load_bytes.items()) or "none"
    copies = ", ".join(f"{count} x {width} B" for width, count in kernel.async_copy_bytes.items()) or "none"
    return (
        f"{head}{instruction(kernel.mma) or 'no matrix instruction'}, {kernel.registers} registers, "
        f"{kernel.spill_bytes} bytes spilled, {kernel.shared_bytes} bytes shared, loads {loads}, asynchronous copies {copies}"
    )
