"""Worker processes: whatever becomes of one, only its file is lost."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.lint import KERNEL

import kernlint.analysis  # noqa: F401 - so that workers are forked with it
from kernlint import crew, sandbox
from kernlint.errors import AnalysisError
from kernlint.lint import pool
from kernlint.lint.job import Job, Result
from kernlint.lint.settings import FileSettings

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="patches what is forked")

CODES = frozenset({"KL101", "KL901", "KL902"})


TRADE = crew.Trade(pool.prepare, pool._check, pool._limit_s)


def job(name, data=b"", timeout_s=20.0):
    return Job(name, data, FileSettings(CODES, timeout_s=timeout_s))


@pytest.fixture(autouse=True)
def forked(monkeypatch):
    """Workers forked from this process, so that they see what is patched here, whatever threads run the tests."""
    monkeypatch.setattr(crew, "_threads", lambda: 1)


@pytest.fixture
def behave(monkeypatch):
    """Workers that do what the name of the file says."""

    def check(job, begun):
        if job.shown == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if job.shown == "exit":
            os._exit(7)
        if job.shown == "hang":
            time.sleep(600)
        if job.shown == "busy":
            while True:
                pass
        if job.shown == "memory":
            return bytearray(2 * sandbox.MEMORY_BYTES)
        if job.shown == "recursion":
            return check(job, begun)
        if job.shown == "bug":
            raise ValueError("two\nlines")
        return Result(())

    monkeypatch.setattr(pool, "check_file", check)
    monkeypatch.setattr(crew, "_LOADED", 4.0)  # for what sleeps, as no analysis does


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crash", "died of SIGKILL"),
        ("exit", "ended early, with status 7"),
        ("hang", "took longer than 0.5 s"),
        ("busy", "took longer than 0.5 s"),
        ("memory", "needs more than 4 GiB"),
        ("recursion", "too deeply nested"),
        ("bug", "internal error, please report it: ValueError: two lines"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_only_its_own_file_is_lost(behave, name, message, workers):
    timeout_s = 0.5 if name in ("hang", "busy") else 20.0
    jobs = [job("fine"), job(name, timeout_s=timeout_s), job("fine too"), job(name, timeout_s=timeout_s), job("last")]
    results = dict(pool.run_jobs(jobs, workers))
    assert sorted(results) == [0, 1, 2, 3, 4]
    assert [len(results[index].findings) for index in range(5)] == [0, 1, 0, 1, 0]
    (finding,) = results[1].findings
    assert (finding.code, finding.file) == ("KL902", name)
    assert message in finding.message
    assert name == "busy" or not results[1].repeatable


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_file_that_had_its_time_is_not_tried_again(behave, monkeypatch, share):
    """Only of one that had to wait for the processor can another run find more."""
    monkeypatch.setattr(crew, "processor_s", lambda pid: share * time.monotonic())
    monkeypatch.setattr(crew, "_LOADED", 1.2)
    ((_, result),) = pool.run_jobs([job("hang", timeout_s=0.5)], 1)
    assert result.findings[0].code == "KL902"
    assert result.repeatable == (share == 1.0)


def test_a_large_file_does_not_block_the_pipe(behave):
    jobs = [job("fine", b"x" * 5_000_000) for _ in range(4)]
    assert len(dict(pool.run_jobs(jobs, 2))) == 4


def test_nothing_to_do():
    assert list(pool.run_jobs([], 4)) == []


def test_workers_that_cannot_start_end_in_diagnostics(monkeypatch):
    monkeypatch.setattr(crew, "_loop", lambda pipe, trade: os._exit(3))
    results = dict(pool.run_jobs([job("a"), job("b"), job("c")], 2))
    assert [results[index].findings[0].code for index in range(3)] == ["KL902"] * 3


def test_as_many_workers_as_the_system_has_room_for(behave, monkeypatch):
    start = multiprocessing.context.ForkProcess.start
    started = []

    def some(process):
        if len(started) >= room:
            raise OSError(errno.EMFILE, "Too many open files")
        started.append(process)
        start(process)

    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", some)
    room = 2
    assert len(dict(pool.run_jobs([job("fine") for _ in range(9)], 8))) == 9
    assert len(started) == 2
    room = 0
    with pytest.raises(AnalysisError, match="no process can be started: Too many open files"):
        list(pool.run_jobs([job("fine")], 8))


def test_no_room_for_a_stack_is_a_diagnostic(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    results = dict(pool.run_jobs([job("a"), job("b"), job("c")], 2))
    assert ["memory for its stack" in results[index].findings[0].message for index in range(3)] == [True] * 3


def test_a_worker_whose_parent_is_gone_ends_in_silence(capfd):
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    worker = multiprocessing.get_context("fork").Process(target=crew._loop, args=(theirs, TRADE))
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0
    assert capfd.readouterr().err == ""


def test_no_worker_outlives_a_run_that_was_killed(tmp_path):
    for number in range(20):
        (tmp_path / f"k{number}.py").write_text(KERNEL)
    command = [sys.executable, "-m", "kernlint", "check", "--no-cache", "--jobs", "3"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(children.read_text().split()) < 3:
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=60)  # each worker has standard output open
    for _ in range(1200):
        if not group_lives(process.pid):
            return
        time.sleep(0.05)
    pytest.fail("a worker lives on")


def group_lives(number):
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_ignored_diagnostic_is_not_reported(behave):
    quiet = Job("exit", b"", FileSettings(CODES - {"KL902"}))
    assert [result.findings for _, result in pool.run_jobs([quiet], 1)] == [()]


def test_stopping_early_ends_the_workers(behave):
    running = pool.run_jobs([job("fine"), job("hang"), job("hang")], 2)
    next(running)
    before = time.monotonic()
    running.close()
    assert time.monotonic() - before < 5


def test_real_findings_come_back():
    ((_, result),) = pool.run_jobs([job("k.py", KERNEL.encode())], 1)
    assert [finding.code for finding in result.findings] == ["KL101"]
    assert result.findings[0].gain.scopes["gpu"]["speedup"] > 1
