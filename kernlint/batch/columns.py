"""The judge as a function over columns, as data sets and ``map_batches`` have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernlint.batch.fields import NAMES
from kernlint.batch.local import judged_all
from kernlint.batch.tasks import COLUMNS, RowTask, row_task
from kernlint.crew import processors

TIMEOUT_S = 60.0


def analyze_columns(
    batch: Mapping[str, Sequence[Any]],
    *,
    device: str | None = None,
    scope: str = "gpu",
    workers: int | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, list[Any]]:
    """A verdict on each row of ``batch``, as columns of a fixed schema (:mod:`kernlint.batch.fields`).

    ``batch`` has the column ``source`` (Python, or a Markdown task file), and may have ``id``, ``reference`` (the PyTorch code
    that is replaced), ``device`` and ``set`` (an object of module-level constants and their values, or that as JSON text); others
    are ignored. Lists, arrays and columns of pandas or Arrow will do. Never raises for what a row holds: the columns ``status`` and
    ``error`` say what became of it. Rows are judged by up to ``workers`` processes (one a processor), which stay for the next call;
    one that crashes, or takes longer than ``timeout_s`` seconds, costs its row. Nothing of the programs is run.
    """
    tasks = tasks_of(batch, device=device, scope=scope, timeout_s=timeout_s)
    rows = judged_all(tasks, processors() if workers is None else max(1, workers)) if tasks else []
    return {name: [row[name] for row in rows] for name in NAMES}


def tasks_of(batch: Mapping[str, Sequence[Any]], *, device: str | None, scope: str, timeout_s: float) -> list[RowTask]:
    """The rows of ``batch`` as tasks. Where columns differ in length, what the short ones lack is missing from its rows."""
    columns = {name: _listed(batch[name]) for name in COLUMNS if name in batch}
    count = max((len(_listed(column)) for column in batch.values()), default=0)
    rows = ({name: column[n] for name, column in columns.items() if n < len(column)} for n in range(count))
    return [row_task(row, number, device, scope, timeout_s) for number, row in enumerate(rows)]


def _listed(column: Any) -> list[Any]:
    """``column`` as a list of Python's own objects."""
    for method in ("to_pylist", "tolist"):  # Arrow, and numpy or pandas
        if hasattr(column, method):
            listed = getattr(column, method)()
            return listed if isinstance(listed, list) else [listed]
    return list(column)
