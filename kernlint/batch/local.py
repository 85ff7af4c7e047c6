"""Rows judged by processes of this machine: a program that crashes or hangs one of them costs its row."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from kernlint.batch.judge import judge_row, unanswered
from kernlint.batch.tasks import RowTask
from kernlint.crew import NOT_RUN, Begun, Crew, Failure, Trade, ready_for_verdicts
from kernlint.errors import AnalysisError

#: The crews of this process by size; a process that is forked from it has its own.
_crews: dict[tuple[int, int], Crew] = {}
_lock = threading.Lock()


def judged(tasks: Iterable[RowTask], workers: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each task with its row, as they are done. Raises ``AnalysisError`` where no process can be started."""
    kept: dict[int, RowTask] = {}

    def noted() -> Iterator[RowTask]:
        for number, task in enumerate(tasks):
            kept[number] = task
            yield task

    for number, result in _crew(workers).run(noted()):
        task = kept.pop(number)
        yield number, unanswered(task, result.kind, result.reason) if isinstance(result, Failure) else result


def judged_in_order(tasks: Iterable[RowTask], workers: int) -> Iterator[dict[str, Any]]:
    """The rows of ``tasks``, in their order. Raises as :func:`judged` does."""
    early: dict[int, dict[str, Any]] = {}
    turn = 0
    for number, row in judged(tasks, workers):
        early[number] = row
        while turn in early:
            yield early.pop(turn)
            turn += 1


def judged_all(tasks: list[RowTask], workers: int) -> list[dict[str, Any]]:
    """The rows of ``tasks``, in their order; never raises."""
    try:
        return list(judged_in_order(tasks, workers))
    except AnalysisError as error:
        return [unanswered(task, NOT_RUN, str(error)) for task in tasks]


def _crew(workers: int) -> Crew:
    key = os.getpid(), workers
    with _lock:
        if key not in _crews:
            if not _crews:
                atexit.register(close)
            _crews[key] = Crew(Trade(ready_for_verdicts, _judge, _limit_s), workers)
        return _crews[key]


def close() -> None:
    """End the processes that wait for more rows; others are started when they are needed."""
    with _lock:
        mine = [key for key in _crews if key[0] == os.getpid()]
        crews = [_crews.pop(key) for key in mine]
    for crew in crews:
        crew.close()


def _judge(task: RowTask, begun: Begun) -> dict[str, Any]:
    return judge_row(task)


def _limit_s(task: RowTask) -> float:
    return task.timeout_s
