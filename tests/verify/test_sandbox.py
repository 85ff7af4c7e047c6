"""Children that misbehave, each in its own way, and what is left of them: a result, and no process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kernlint.verify.sandbox import Ended, Limits, run_child

#: A module of the child's folder, found because the child starts there.
MODULE = "subject"

REPORT = """
import json, os
def report(path, **event):
    with open(path, "a") as file:
        file.write(json.dumps(event) + "\\n")
"""


def child(body: str, seconds: float = 20.0, memory: int = 1 << 30) -> Ended:
    """Run ``body`` as the child's program: ``report(event=...)`` writes to the result file."""
    code = REPORT + "def main(job, results):\n    say = lambda **e: report(results, **e)\n"
    code += "".join(f"    {line}\n" for line in body.strip().splitlines())
    return run_child({}, {f"{MODULE}.py": code}, Limits(seconds, memory), f"{MODULE}:main")


def test_a_child_that_ends_well_reports():
    ended = child("say(event='found', x=1)\nsay(event='end')")
    assert ended.finished
    assert [event["event"] for event in ended.events] == ["found", "end"]


def test_what_it_reports_is_told_at_once():
    code = REPORT + "import time\ndef main(job, results):\n    report(results, event='found')\n    time.sleep(30)\n"
    told: list[tuple[str, float]] = []

    def tell(event):
        told.append((event["event"], time.monotonic()))

    start = time.monotonic()
    ended = run_child({}, {f"{MODULE}.py": code}, Limits(4.0, 1 << 30), f"{MODULE}:main", tell)
    assert ended.how == "timeout"
    found = [at for event, at in told if event == "found"]
    assert len(found) == 1 and found[0] - start < 3.5
    assert ("waiting" in {event for event, _ in told}) and {event for event, _ in told} == {"found", "waiting"}


def test_what_it_printed_does_not_mix_with_its_results():
    ended = child("print('{\"event\": \"forged\"}')\nsay(event='end')")
    assert ended.finished and len(ended.events) == 1
    assert "forged" in ended.output


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param("os.kill(os.getpid(), 11)", "SIGSEGV", id="segmentation fault"),
        pytest.param("os.abort()", "SIGABRT", id="abort"),
        pytest.param("raise SystemExit(3)", "status 3", id="SystemExit"),
        pytest.param("os._exit(0)", "status 0", id="silent end"),
        pytest.param("raise ValueError('x')", "status 1", id="exception"),
    ],
)
def test_a_crash_is_a_result_with_what_was_found_before(body, words):
    ended = child(f"say(event='begin')\n{body}")
    assert ended.how == "crashed"
    assert words in ended.detail
    assert [event["event"] for event in ended.events] == ["begin"]


def test_a_hang_is_stopped():
    start = time.monotonic()
    ended = child("import time\nwhile True: time.sleep(1)", seconds=1.5)
    assert ended.how == "timeout"
    assert time.monotonic() - start < 15


def test_a_hang_that_ignores_signals_is_stopped():
    ended = child(
        "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nsignal.signal(2, signal.SIG_IGN)\ntime.sleep(99)", 1.5
    )
    assert ended.how == "timeout"


def test_memory_is_bounded():
    ended = child(
        "import time\nheld = [bytearray(b'x' * (16 << 20)) for _ in range(40)]\ntime.sleep(30)", memory=256 << 20
    )
    assert ended.how == "memory"
    assert "256 MB" in ended.detail


def test_memory_of_all_processes_counts():
    body = """
import time
for _ in range(4):
    if os.fork() == 0:
        held = bytearray(b'x' * (100 << 20))
        time.sleep(30)
time.sleep(30)
"""
    assert child(body, memory=256 << 20).how == "memory"


def test_a_flood_of_output_is_drained():
    ended = child("for _ in range(3000): print('x' * 10000)\nsay(event='end')")
    assert ended.finished
    assert len(ended.output) < 100_000


def test_a_half_written_result_is_left_out():
    ended = child('open(results, \'w\').write(\'{"event": "a"}\\n{"event": "b\')\nos._exit(1)')
    assert [event["event"] for event in ended.events] == ["a"]


@pytest.mark.parametrize("leave", ["", "os.setsid()"], ids=["in its session", "in a session of its own"])
def test_children_of_the_child_do_not_outlive_it(leave, tmp_path):
    note = tmp_path / "pid"
    body = f"""
import time
if os.fork() == 0:
    {leave or "pass"}
    open({str(note)!r}, 'w').write(str(os.getpid()))
    time.sleep(60)
while not os.path.exists({str(note)!r}) or not open({str(note)!r}).read(): time.sleep(0.02)
say(event='end')
"""
    assert child(body).finished
    assert not _alive(int(note.read_text()))


def test_endless_forks_are_stopped():
    body = """
import time
while True:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
    ended = child(body, seconds=30)
    assert ended.how in ("processes", "crashed", "memory")


def test_it_has_a_folder_of_its_own_and_little_of_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    ended = child(
        "say(event='seen', env=sorted(os.environ), tmp=os.environ['TMPDIR'], here=os.getcwd())\nsay(event='end')"
    )
    seen = ended.events[0]
    assert "SECRET_TOKEN" not in seen["env"]
    assert seen["tmp"].startswith(seen["here"])
    assert not Path(seen["here"]).exists()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
