"""Rows judged on a Ray cluster. A worker that is lost costs nothing: Ray gives its rows to another.

Each task of Ray judges its rows in a child process of its own, as on one machine: a program that crashes it costs its row and not the
worker.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from kernlint.batch.local import judged_all
from kernlint.batch.tasks import RowTask
from kernlint.errors import AnalysisError, UsageError

#: Rows of one task of Ray, and rows that are handed to the cluster at a time.
_AT_A_TIME = 16
_WINDOW = 8192


def require_ray() -> None:
    """Raises ``UsageError`` where Ray Data is missing."""
    try:
        import ray.data  # noqa: F401
    except ImportError:
        raise UsageError("--engine ray needs Ray: pip install 'kernlint[ray]'") from None


def judged_by_ray(tasks: Iterable[RowTask]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each task with its row, as blocks of them are done, by the cluster that this process is connected to, else the one
    that ``RAY_ADDRESS`` names, else one of this machine. Raises ``AnalysisError`` where the cluster fails."""
    require_ray()
    import ray

    numbered = enumerate(tasks)
    while window := list(islice(numbered, _WINDOW)):
        try:
            yield from _judged(window)
        except ray.exceptions.RayError as error:
            raise AnalysisError(f"the Ray cluster failed: {' '.join(str(error).split())[:500]}") from None


def _judged(window: list[tuple[int, RowTask]]) -> Iterator[tuple[int, dict[str, Any]]]:
    import ray.data

    if not ray.is_initialized():
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # a node that does not start raises a bare one
            raise AnalysisError(f"no Ray cluster: {' '.join(str(error).split())[:500]}") from None
        # We have a progress bar of our own; Ray Data would log a page a second beside it.
        logging.getLogger("ray.data").setLevel(logging.WARNING)
    blocks = max(1, -(-len(window) // _AT_A_TIME))
    items = [{"number": number, "task": pickle.dumps(task)} for number, task in window]
    rows = ray.data.from_items(items, override_num_blocks=blocks).map_batches(judged_block, batch_size=_AT_A_TIME)
    for row in rows.iter_rows():
        yield int(row["number"]), pickle.loads(row["row"])


def judged_block(block: dict[str, Any]) -> dict[str, Any]:
    """What a task of Ray does with its rows. Packed, so that columns that happen to be all null keep their types."""
    tasks = [pickle.loads(task) for task in block["task"]]
    return {"number": block["number"], "row": [pickle.dumps(row) for row in judged_all(tasks, 1)]}
