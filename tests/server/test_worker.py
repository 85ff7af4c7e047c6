"""Workers that stay, and the lane in which they are asked."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time

import pytest
from support.busy import busy

from kernlint import crew
from kernlint.errors import AnalysisError, SourceError
from kernlint.server import worker as module
from kernlint.server.worker import Lane
from kernlint.syntax.source import decode_source, split_lines


@pytest.fixture
def ask():
    """Questions that are waited for one by one."""
    lane = Lane()
    yield lambda call, arguments, timeout_s: asyncio.run(lane.ask(call, arguments, timeout_s))
    lane.close()


def test_results_and_errors_come_back_from_one_process(ask):
    number = ask(os.getpid, {}, 60)
    assert ask(split_lines, {"text": "a\nb"}, 60) == ["a", "b"]
    with pytest.raises(SourceError, match=r"^k\.py: the file is empty$"):
        ask(decode_source, {"data": b"", "path": "k.py"}, 60)
    with pytest.raises(AnalysisError, match="internal error, please report it: TypeError"):
        ask(split_lines, {}, 60)
    assert ask(os.getpid, {}, 60) == number != os.getpid()


def test_a_folder_that_is_gone_is_said(tmp_path):
    lane = Lane(str(tmp_path / "gone"))
    with pytest.raises(AnalysisError, match="gone: No such file or directory"):
        asyncio.run(lane.ask(os.getpid, {}, 60))
    lane.close()


def test_what_takes_too_long_is_given_up(ask):
    number = ask(os.getpid, {}, 60)
    begun = time.monotonic()
    with pytest.raises(AnalysisError, match=r"the analysis took longer than 0\.5 s"):
        ask(signal.pause, {}, 0.5)
    assert time.monotonic() - begun < 30
    assert ask(os.getpid, {}, 60) != number


def test_a_worker_that_died_while_it_had_nothing_to_do_is_replaced():
    async def talk() -> tuple[int, int]:
        lane = Lane()
        first = await lane.ask(os.getpid, {}, 60)
        os.kill(first, signal.SIGKILL)
        await asyncio.sleep(0.5)
        second = await lane.ask(os.getpid, {}, 60)
        lane.close()
        return first, second

    first, second = asyncio.run(talk())
    assert first != second


def test_a_worker_that_holds_too_much_is_replaced(monkeypatch):
    monkeypatch.setattr(crew, "_MOST_KEPT", 1)

    async def talk() -> set[int]:
        lane = Lane()
        found = {await lane.ask(os.getpid, {}, 60) for _ in range(2)}
        lane.close()
        return found

    assert len(asyncio.run(talk())) == 2


def test_a_question_that_nobody_waits_for_gets_out_of_the_way():
    async def talk() -> tuple[int, int, float]:
        lane = Lane()
        first = await lane.ask(os.getpid, {}, 60)
        for _ in range(3):  # the second and third have not begun when they are given up
            asked = asyncio.ensure_future(lane.ask(signal.pause, {}, 60))
            await asyncio.sleep(0.1)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
        begun = time.monotonic()
        second = await lane.ask(os.getpid, {}, 60)
        lane.close()
        return first, second, time.monotonic() - begun

    first, second, waited_s = asyncio.run(talk())
    assert first != second
    assert waited_s < 30


def test_a_short_question_that_nobody_waits_for_does_not_cost_the_worker():
    async def talk() -> tuple[int, int]:
        lane = Lane()
        first = await lane.ask(os.getpid, {}, 60)
        asked = asyncio.ensure_future(lane.ask(split_lines, {"text": "a"}, 60))
        await asyncio.sleep(0)
        asked.cancel()
        second = await lane.ask(os.getpid, {}, 60)
        await asyncio.sleep(2 * module.GRACE_S)
        third = await lane.ask(os.getpid, {}, 60)
        lane.close()
        return first, second if second == third else -1

    first, second = asyncio.run(talk())
    assert first == second


def test_what_can_be_given_up_costs_no_worker():
    async def talk() -> set[int]:
        lane = Lane()
        found = {await lane.ask(os.getpid, {}, 60)}
        for _ in range(3):
            asked = asyncio.ensure_future(lane.ask(busy, {"seconds": 600}, 60))
            await asyncio.sleep(0.1)
            asked.cancel()
            begun = time.monotonic()
            found.add(await lane.ask(os.getpid, {}, 60))
            assert time.monotonic() - begun < 30
        await asyncio.sleep(2 * module.GRACE_S)
        found.add(await lane.ask(os.getpid, {}, 60))
        lane.close()
        return found

    assert len(asyncio.run(talk())) == 1


def test_a_patient_question_lets_others_go_first_and_is_answered_all_the_same():
    async def talk() -> tuple[list[str], set[int]]:
        lane = Lane()
        answered: list[str] = []

        async def ask(name: str, seconds: float, patient: bool) -> int:
            number: int = await lane.ask(busy, {"seconds": seconds}, 60, patient=patient)
            answered.append(name)
            return number

        processes = {await ask("first", 0, patient=False)}
        patient = asyncio.ensure_future(ask("patient", 2, patient=True))
        for name in ("second", "third"):
            await asyncio.sleep(0.3)
            processes.add(await ask(name, 0, patient=False))
        processes.add(await patient)
        lane.close()
        return answered, processes

    answered, processes = asyncio.run(talk())
    assert answered == ["first", "second", "third", "patient"]
    assert len(processes) == 1


@pytest.mark.parametrize(
    ("young", "waits", "looks"), [(10, False, 0), (100_000, False, 1), (100_000, True, 0), (300_000, True, 1)]
)
def test_a_job_that_waits_goes_before_garbage_unless_there_is_too_much_of_it(monkeypatch, young, waits, looks):
    seen = []
    monkeypatch.setattr(crew.gc, "get_count", lambda: (young, 0, 0))
    monkeypatch.setattr(crew.gc, "collect", seen.append)
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        if waits:
            ours.send("job")
        crew._tidy(theirs)
        assert len(seen) == looks
        assert theirs.poll() == waits
