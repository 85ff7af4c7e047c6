"""How good the choice of a tile is on the timed kernels of ``calibration/facts``, needs no GPU.

    python benchmarks/tile_choice.py

For each timed tile of each problem (type, shape, layout) the model predicts what the tile that it thinks fastest there would
gain; the table says, by predicted gain, what it does gain. The model was fitted to these rows: what it cannot follow shows here
all the same, and what it does follow is judged by `calibration/fit_dots.py` on rows left out, and by `benchmarks/accuracy.py`.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "calibration"))

from dot_rows import FACTS, Row, read_rows

from kernlint.cost.device import find_device
from kernlint.cost.dots import deviations, dot_time

#: Width of a class of predicted gains, as a logarithm; all above the last one are one class.
_STEP, _CLASSES = 0.05, 10
#: Tiles of a problem that make a choice.
_LEAST_TILES = 6
#: A change that measures slower than this has lost.
_LOST = 0.97


def gains(rows: list[Row]) -> list[tuple[float, float]]:
    """(predicted, measured) gain of the predicted best tile over each other one of its problem."""
    device = find_device("h100-sxm")
    problems: dict[tuple[object, ...], list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if "spills" in deviations(row.loop, device) or row.loop.num_stages < 2:
            continue
        problem = (row.group, row.mode, row.shape, row.layout, row.loop.masked, row.loop.grouped, row.variant)
        problems[problem].append((dot_time(row.loop, device).us, row.us))
    found = []
    for times in problems.values():
        if len(times) >= _LEAST_TILES:
            best_predicted, best_measured = min(times)
            found += [(predicted / best_predicted, measured / best_measured) for predicted, measured in times]
    return found


def main() -> None:
    classes: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for predicted, measured in gains(read_rows(sorted(FACTS.glob("h100-gemm*.csv")))):
        classes[min(_CLASSES, int(math.log(predicted) / _STEP))].append((predicted, measured))
    print("predicted   tiles  mean ln(predicted/measured)  slower after  gains 1.1x")
    for index, pairs in sorted(classes.items()):
        error = sum(math.log(predicted / measured) for predicted, measured in pairs) / len(pairs)
        lost = sum(measured < _LOST for _, measured in pairs) / len(pairs)
        won = sum(measured >= 1.1 for _, measured in pairs) / len(pairs)
        print(f"from {math.exp(index * _STEP):4.2f}x  {len(pairs):5}  {error:27.3f}  {lost:12.0%}  {won:10.0%}")


if __name__ == "__main__":
    main()
