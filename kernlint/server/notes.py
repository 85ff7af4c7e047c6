"""What an editor shows above and over a kernel: the time of its launches in a call, and where the time of the call goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernlint.records import dataclass
from kernlint.server.editing import Asked, settings_of
from kernlint.verdict.speedup import format_factor, format_us

if TYPE_CHECKING:
    from kernlint.cost.estimate import Estimate
    from kernlint.syntax.tree import Module
    from kernlint.verdict.model import HeadroomReport
    from kernlint.workload import Kernel, Workload

#: The part of a call's time from which on the call is the kernel.
_ALL = 0.95

#: The speedup from which on it is worth talking about, as in a verdict.
_WORTH = 1.2


@dataclass(frozen=True)
class KernelNote:
    """A kernel of the document: its ``name``, the lines of its ``def``, its first decorator and the end of its body, and what is
    known of it in the call where it takes most: its ``time`` in a few words (empty while sizes are open), how many times faster the call
    could be in a well-written version (``ratio``), and ``markdown``."""

    name: str
    line: int
    first_line: int
    last_line: int
    time: str
    ratio: float
    markdown: str

    def title(self, gain: float) -> str:
        """What stands above the kernel, where the best change found is predicted to gain ``gain``; empty while sizes are open."""
        room = max(self.ratio, gain)
        said = f"{format_factor(room)} possible" if room >= _WORTH else "close to what is achievable"
        return f"{self.time}, {said}" if self.time else ""


def kernel_notes(text: str, asked: Asked) -> tuple[KernelNote, ...]:
    """A note for each kernel of ``text`` that a call in it launches, in source order; none where nothing is launched.

    Raises ``UsageError`` for a wrong configuration and ``SourceError`` for what does not parse.
    """
    from kernlint.analysis import read_program
    from kernlint.cost.estimate import estimate
    from kernlint.errors import AnalysisError
    from kernlint.headroom.headroom import headroom_of
    from kernlint.lint.reading import read_bytes
    from kernlint.request import Request
    from kernlint.syntax.source import decode_source
    from kernlint.verdict.words import headroom_report

    settings = settings_of(asked)
    reference, reference_path = None, settings["reference"] or ""
    if reference_path:
        reference = decode_source(read_bytes(reference_path), reference_path).text
    try:
        request = Request(text, asked.path, reference, reference_path, settings["device"])
        reading = read_program(request)
    except AnalysisError:  # no kernel, no launch, another dialect: nothing to show
        return ()
    best: dict[str, tuple[float, KernelNote]] = {}
    heads = _heads(reading.task.kernel)
    for workload in reading.workloads:
        now = estimate(workload, reading.device)
        library = estimate(workload.reference, reading.device) if workload.reference is not None else None
        headroom = headroom_of(workload, now, reading.device, library)
        report = headroom_report(headroom) if headroom is not None else None
        for kernel, time_us in kernel_times(workload, now):
            if kernel.file == reading.task.kernel.path and best.get(kernel.name, (-1.0,))[0] < time_us:
                best[kernel.name] = time_us, _note(kernel, heads, workload, now, time_us, report)
    return tuple(sorted((note for _, note in best.values()), key=lambda note: note.line))


def _heads(module: Module) -> dict[int, int]:
    """The line of the first decorator of each decorated function, by that of its name."""
    import libcst as cst

    from kernlint.syntax.walk import walk

    functions = [node for node in walk(module.tree) if isinstance(node, cst.FunctionDef) and node.decorators]
    return {module.span(node.name).line: module.span(node.decorators[0]).line for node in functions}


def kernel_times(workload: Workload, now: Estimate) -> list[tuple[Kernel, float]]:
    """Each kernel that is launched, with the device microseconds of all its launches in a call."""
    from kernlint.workload import Launch

    found: dict[str, tuple[Kernel, float]] = {}
    for launch in workload.launches():
        found.setdefault(launch.kernel.name, (launch.kernel, 0.0))
    for row in now.steps:
        if isinstance(row.step, Launch):
            kernel, time_us = found.get(row.step.kernel.name, (row.step.kernel, 0.0))
            found[kernel.name] = kernel, time_us + row.total_gpu_us
    return list(found.values())


def _note(
    kernel: Kernel,
    heads: Mapping[int, int],
    workload: Workload,
    now: Estimate,
    time_us: float,
    report: HeadroomReport | None,
) -> KernelNote:
    device, call_us = now.device.id, now.gpu_us
    line = kernel.name_span.line
    first, last = heads.get(line, line), kernel.span.end_line
    if call_us is None or report is None:
        open_ = ", ".join(now.missing[:4])
        why = f" while sizes are open: {open_}" if open_ else ""
        text = f"**{kernel.name}**: no estimate{why}"
        return KernelNote(kernel.name, line, first, last, "", 1.0, text)
    ratio = report.now_us / report.achievable_us[1] if report.achievable_us[1] > 0 else 1.0
    time = (
        f"{format_us(time_us)} us" if time_us >= _ALL * call_us else f"{format_us(time_us)} of {format_us(call_us)} us"
    )
    lines = [
        f"**{kernel.name}**: {format_us(time_us)} us of a call of `{workload.entry}` on {device} (device time, predicted)",
        "",
        *_waterfall(report),
    ]
    sizes = ", ".join(f"{size}={value}" for size, value in sorted(workload.sizes.items()))
    if sizes:
        lines += ["", f"At {sizes}."]
    return KernelNote(kernel.name, line, first, last, f"{time} on {device}", ratio, "\n".join(lines))


def _waterfall(report: HeadroomReport) -> list[str]:
    """From the time now down to the achievable one and the bound, as a table."""
    low, middle, high = report.achievable_us
    rows = [("now", format_us(report.now_us), "")]
    for cause in report.causes:
        where = f"{cause.step}, line {cause.location.line}" + (f": {cause.evidence}" if cause.evidence else "")
        rows.append((f"− {cause.cause}", format_us(cause.us), where))
    rest = report.now_us - middle - sum(cause.us for cause in report.causes)
    if rest > 0.005 * report.now_us:
        rows.append(("− rest", format_us(rest), "what no cause explains"))
    rows.append(
        ("achievable", format_us(middle), "; ".join([f"{format_us(low)} to {format_us(high)}", *report.witness[:1]]))
    )
    if report.changed_us is not None:
        rows.append(("with tf32", format_us(report.changed_us), "another numerics"))
    if report.library_us is not None:
        rows.append(("torch's kernels", format_us(report.library_us), ""))
    rows.append(("bound", format_us(report.bound_us), "limits of the hardware"))
    table = ["| | us | |", "|---|--:|---|"]
    return table + [f"| {name} | {us} | {_cell(text)} |" for name, us, text in rows]


def _cell(text: str) -> str:
    """``text`` of the analysed source, as a cell of a Markdown table that it cannot leave."""
    for character in "\\`*_[]<>|!":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def kernel_at(notes: tuple[KernelNote, ...], line: int) -> KernelNote | None:
    """The note of the kernel whose head or body has ``line``."""
    return next((note for note in notes if note.first_line <= line <= note.last_line), None)
