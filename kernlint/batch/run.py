"""A file of tasks to a file of results, in the same order, through a journal that a second run goes on from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from kernlint.batch.journal import Journal, digest
from kernlint.batch.store import count_rows, read_rows, write_rows
from kernlint.batch.tasks import RowTask, row_task
from kernlint.records import dataclass

#: The number of each task with its row, as they are done.
Engine = Callable[[Iterable[RowTask]], Iterator[tuple[int, dict[str, Any]]]]

#: Told how many rows are done, and of how many where that is known.
Progress = Callable[[int, "int | None"], None]

_SUFFIX = ".partial"


@dataclass
class Outcome:
    """What became of a run: rows by status, and how many were ``resumed`` from a run before."""

    statuses: Counter[str] = field(default_factory=Counter)
    resumed: int = 0

    @property
    def rows(self) -> int:
        return sum(self.statuses.values())


def run_batch(
    source: str,
    output: str,
    engine: Engine,
    *,
    device: str | None,
    scope: str,
    timeout_s: float,
    afresh: bool = False,
    progress: Progress = lambda done, total: None,
) -> Outcome:
    """Judge each row of the file ``source`` by ``engine`` and write the rows to ``output``. What is done is kept beside it until all
    is; the same call then goes on where it was interrupted, unless it is to begin ``afresh``.

    Raises ``UsageError`` where a file cannot be read or written, ``AnalysisError`` where the engine cannot work at all.
    """
    total = count_rows(source)
    rows = read_rows(source)
    if output == "-":
        outcome = Outcome()
        write_rows(
            output, _counted(_in_order(engine(_tasks(rows, device, scope, timeout_s))), outcome, progress, total)
        )
        return outcome
    journal = Journal(output + _SUFFIX, afresh)
    try:
        count, resumed = _fill(journal, _tasks(rows, device, scope, timeout_s), engine, progress, total)
        outcome = Outcome(resumed=resumed)
        write_rows(output, _counted(journal.rows(count), outcome))
    except BaseException:
        journal.close()
        raise
    journal.remove()
    return outcome


def _tasks(rows: Iterable[Mapping[str, Any]], device: str | None, scope: str, timeout_s: float) -> Iterator[RowTask]:
    for number, row in enumerate(rows):
        if "unreadable" in row:
            yield RowTask(str(number), scope=scope, timeout_s=timeout_s, problem=str(row["unreadable"]))
        else:
            yield row_task(row, number, device, scope, timeout_s)


def _fill(
    journal: Journal, tasks: Iterable[RowTask], engine: Engine, progress: Progress, total: int | None
) -> tuple[int, int]:
    """Have every task answered in the journal: how many there are, and how many were already."""
    asked: dict[int, tuple[int, str]] = {}  # by the number that the engine knows: that of the row, and its question
    count = resumed = 0

    def missing() -> Iterator[RowTask]:
        nonlocal count, resumed
        for number, task in enumerate(tasks):
            count = number + 1
            question = digest(task)
            if journal.has(number, question):
                resumed += 1
            else:
                asked[len(asked)] = number, question
                yield task

    for done, (number, row) in enumerate(engine(missing()), start=1):
        journal.add(*asked[number], row)
        progress(done + resumed, total)
    return count, resumed


def _in_order(found: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    early: dict[int, dict[str, Any]] = {}
    turn = 0
    for number, row in found:
        early[number] = row
        while turn in early:
            yield early.pop(turn)
            turn += 1


def _counted(
    rows: Iterable[dict[str, Any]],
    outcome: Outcome,
    progress: Progress = lambda done, total: None,
    total: int | None = None,
) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row
        outcome.statuses[row["status"]] += 1
        progress(outcome.rows, total)
