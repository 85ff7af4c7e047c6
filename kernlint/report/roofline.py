"""A roofline plot of one call, before and after the change: how far each step is from what the device can do.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009: a step of I
operations per byte cannot do more than min(peak, I x bandwidth) operations per second. A step left of a roof's ridge and
on its slope is bound by that memory; one far below all roofs waits for something else. Bytes are the distinct ones that a
step touches, times are the model's (or measured ones where there are some).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernlint.errors import AnalysisError, UsageError
from kernlint.records import dataclass
from kernlint.report.budget import Budget, CallBudget, StepBudget
from kernlint.report.look import printable

SUFFIXES = (".svg", ".png")

_COLOURS = {"before": "#c0392b", "after": "#1f77b4"}
_MARKERS = {"before": "o", "after": "s"}
#: Of a call with many steps those that take least time are not drawn.
_MOST_POINTS = 12


def check_plot_path(path: str) -> None:
    """Raises ``UsageError`` unless the name ends in a suffix that can be drawn, and where matplotlib is missing."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise UsageError(f"--plot {path}: the name must end in {' or '.join(SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'kernlint[plot]'") from None


@dataclass(frozen=True)
class Frame:
    """What a picture shows: the steps ``drawn`` by version (before, after), and the ends of both axes."""

    drawn: Mapping[str, Sequence[StepBudget]]
    x: tuple[float, float]
    y: tuple[float, float]


def frame_of(budget: Budget) -> Frame | None:
    """The :class:`Frame` of ``budget``; None where no step has both operations and a predicted time."""
    drawn = {
        word: [step for step in busiest(call) if step.intensity and step.achieved]
        for word, call in (("before", budget.before), ("after", budget.after))
        if call is not None
    }
    points = [step for steps in drawn.values() for step in steps]
    if not points:
        return None
    top = max(roof.value for roof in budget.roofs if roof.kind == "peak")
    slope = next(roof for roof in budget.roofs if roof.kind == "bandwidth")
    x_low = min([0.1, *(step.intensity / 3 for step in points if step.intensity)])
    x_high = max([10 * top / slope.value, *(step.intensity * 3 for step in points if step.intensity)])
    y_low = min([slope.value * x_low, *(step.achieved / 3 for step in points if step.achieved)])
    return Frame(drawn, (x_low, x_high), (y_low, top * 3))


def write_roofline(budget: Budget, path: str) -> None:
    """Draw ``budget`` into ``path``, SVG or PNG by its suffix; an SVG is the same to the byte each time.

    Raises ``AnalysisError`` when no step has both operations and a time, ``UsageError`` as :func:`check_plot_path`,
    ``OSError`` when the file cannot be written.
    """
    check_plot_path(path)
    frame = frame_of(budget)
    if frame is None:
        raise AnalysisError(f"{budget.file}: nothing to plot: no step has both operations and a predicted time")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Without a salt the ids of clip paths are random.
    settings: dict[str, Any] = {"svg.hashsalt": "kernlint", "svg.fonttype": "none", "font.family": "DejaVu Sans"}
    # Not the user's own style: a plot is the same everywhere.
    style: dict[Any, Any] = {**matplotlib.rcParamsDefault, **settings, "backend": "agg"}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.0, 6.0), layout=None)
        FigureCanvasAgg(figure)
        figure.subplots_adjust(left=0.09, right=0.97, top=0.92, bottom=0.16)
        axes = figure.add_subplot()
        _draw_roofs(axes, budget, frame)
        for word, steps in frame.drawn.items():
            _draw_steps(axes, word, steps)
        _decorate(axes, figure, budget)
        kind = Path(path).suffix.lower()[1:]
        metadata = {"Date": None, "Creator": "kernlint"} if kind == "svg" else {"Software": "kernlint"}
        figure.savefig(path, format=kind, dpi=150, metadata=metadata)


def busiest(call: CallBudget) -> list[StepBudget]:
    """The steps that are drawn of ``call``, in order: those that take longest, where there are many."""
    ranked = sorted(range(len(call.steps)), key=lambda i: -call.steps[i].gpu_us)[:_MOST_POINTS]
    return [call.steps[i] for i in sorted(ranked)]


def _draw_roofs(axes: Any, budget: Budget, frame: Frame) -> None:
    peaks = [roof for roof in budget.roofs if roof.kind == "peak"]
    slopes = [roof for roof in budget.roofs if roof.kind == "bandwidth"]
    top = max(roof.value for roof in peaks)
    x_low, x_high = frame.x
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(x_low, x_high)
    axes.set_ylim(*frame.y)
    for slope, style in zip(slopes, ("-", "--")):
        # Memory's name goes below its line, that of L2 above its own.
        below = style == "-"
        x = x_low * 3
        axes.plot(
            [x_low, top / slope.value], [x_low * slope.value, top], color="#444444", linewidth=1.2, linestyle=style
        )
        axes.annotate(
            f"{slope.name} {slope.value / 1e12:.3g} TB/s", (x, x * slope.value), fontsize=8, textcoords="offset points",
            xytext=(5, -5) if below else (-5, 5), horizontalalignment="left" if below else "right",
            verticalalignment="top" if below else "bottom",
        )  # fmt: skip
    for peak in peaks:
        axes.plot([peak.value / slopes[-1].value, x_high], [peak.value, peak.value], color="#444444", linewidth=1.2)
        label = f"{peak.name} {peak.value / 1e12:,.0f} TOP/s"
        axes.annotate(label, (x_high, peak.value * 1.06), fontsize=8, horizontalalignment="right")


def _draw_steps(axes: Any, word: str, steps: Sequence[StepBudget]) -> None:
    colour = _COLOURS[word]
    axes.plot(
        [step.intensity for step in steps], [step.achieved for step in steps], label=word, color=colour,
        marker=_MARKERS[word], linestyle="none", markersize=7,
    )  # fmt: skip
    for step in steps:
        # A dollar sign would begin a formula.
        name = printable(step.name).replace("$", r"\$")
        text = f"{name[:40]}, {step.gpu_us:.3g} us"
        axes.annotate(
            text, (step.intensity, step.achieved), xytext=(-6, 7 if word == "after" else -13), fontsize=7,
            textcoords="offset points", color=colour, horizontalalignment="right",
        )  # fmt: skip


def _decorate(axes: Any, figure: Any, budget: Budget) -> None:
    axes.set_xlabel("arithmetic intensity: operations per distinct byte")
    axes.set_ylabel("operations per second")
    change = f", after {budget.change.title}" if budget.after is not None and budget.change else ""
    axes.set_title(f"{budget.entry} on {budget.device}{change}".replace("$", r"\$"), fontsize=10)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.legend(loc="lower right", fontsize=8)
    nothing = silent(budget)
    if nothing:
        figure.text(0.09, 0.03, f"without arithmetic: {nothing}".replace("$", r"\$"), fontsize=7)


def silent(budget: Budget) -> str:
    """Steps that take time and compute nothing: they have no place in the plot, and may be the ones to mend."""
    texts = []
    for word, call in (("before", budget.before), ("after", budget.after)):
        steps = [s for s in busiest(call) if not s.flops and s.gpu_us > 0] if call is not None else []
        if steps:
            texts.append(f"{word} " + ", ".join(f"{printable(s.name)[:30]} {s.gpu_us:.3g} us" for s in steps[:4]))
    return "; ".join(texts)
