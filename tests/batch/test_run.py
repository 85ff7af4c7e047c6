"""Files of tasks: order, resuming, what is not readable, and what is left behind."""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jsonschema
import pytest
from support.batch import BROKEN, KERNEL, REFERENCE, WITHOUT_KERNEL

from kernlint.batch import journal, run, store
from kernlint.batch.fields import NAMES
from kernlint.batch.judge import judge_row, unanswered
from kernlint.cli import main
from kernlint.errors import UsageError
from kernlint.schema import load

ASKED = {"device": None, "scope": "gpu", "timeout_s": 60.0}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def read(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def backwards(tasks):
    """An engine that is done with the last row first."""
    for number, task in reversed(list(enumerate(tasks))):
        yield number, unanswered(task, "no-verdict", task.source)


class Interrupted:
    """An engine that is interrupted after some rows, and knows which it was asked."""

    def __init__(self, after):
        self.after = after
        self.asked = []

    def __call__(self, tasks):
        for number, task in enumerate(tasks):
            if len(self.asked) == self.after:
                raise KeyboardInterrupt
            self.asked.append(task.source)
            yield number, unanswered(task, "no-verdict", task.source)


@pytest.fixture
def tasks(tmp_path):
    return write(tmp_path / "tasks.jsonl", [{"id": f"row {n}", "source": f"s{n}"} for n in range(6)])


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_order_is_kept_and_nothing_else_is_left(tasks, tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"out.{suffix}"
    outcome = run.run_batch(tasks, str(out), backwards, **ASKED)
    assert (outcome.rows, outcome.resumed, dict(outcome.statuses)) == (6, 0, {"no-verdict": 6})
    rows = parquet_rows(out) if suffix == "parquet" else read(out)
    assert [row["id"] for row in rows] == [f"row {n}" for n in range(6)]
    assert [row["error"] for row in rows] == [f"s{n}" for n in range(6)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"out.{suffix}", "tasks.jsonl"]


def parquet_rows(path):
    import pyarrow.parquet

    return pyarrow.parquet.read_table(path).to_pylist()


def test_a_second_run_goes_on_where_the_first_was_interrupted(tasks, tmp_path):
    out = str(tmp_path / "out.jsonl")
    with pytest.raises(KeyboardInterrupt):
        run.run_batch(tasks, out, Interrupted(4), **ASKED)
    assert not os.path.exists(out)
    with open(out + ".partial", "ab") as file:
        file.write(b'{"number": 5, "question": "cut o')
    second = Interrupted(None)
    outcome = run.run_batch(tasks, out, second, **ASKED)
    assert second.asked == ["s4", "s5"]
    assert (outcome.rows, outcome.resumed) == (6, 4)
    assert [row["error"] for row in read(out)] == [f"s{n}" for n in range(6)]
    assert not os.path.exists(out + ".partial")


@pytest.mark.parametrize(
    "change",
    [{"device": "a100"}, {"scope": "call"}, {"timeout_s": 1.0}, {"afresh": True}],
    ids=["device", "scope", "timeout", "afresh"],
)
def test_answers_to_another_question_are_not_taken_over(tasks, tmp_path, change):
    out = str(tmp_path / "out.jsonl")
    with pytest.raises(KeyboardInterrupt):
        run.run_batch(tasks, out, Interrupted(4), **ASKED)
    second = Interrupted(None)
    run.run_batch(tasks, out, second, **(ASKED | change))
    assert len(second.asked) == 6


def test_rows_that_changed_are_asked_again(tasks, tmp_path):
    out = str(tmp_path / "out.jsonl")
    with pytest.raises(KeyboardInterrupt):
        run.run_batch(tasks, out, Interrupted(4), **ASKED)
    write(Path(tasks), [{"id": f"row {n}", "source": "new" if n == 1 else f"s{n}"} for n in range(3)])
    second = Interrupted(None)
    outcome = run.run_batch(tasks, out, second, **ASKED)
    assert second.asked == ["new"]
    assert outcome.rows == 3
    assert [row["error"] for row in read(out)] == ["s0", "new", "s2"]


def test_what_no_process_was_found_for_is_tried_again(tasks, tmp_path):
    out = str(tmp_path / "out.jsonl")

    def without_processes(some):
        for number, task in enumerate(some):
            if number == 3:
                raise KeyboardInterrupt
            yield number, unanswered(task, "not-run", "no process can be started")

    with pytest.raises(KeyboardInterrupt):
        run.run_batch(tasks, out, without_processes, **ASKED)
    assert run.run_batch(tasks, out, backwards, **ASKED).resumed == 0


@pytest.mark.parametrize("content", [b"precious\n", b"\0\1\2", b'{"name": 3}\n'])
def test_a_file_of_somebody_else_in_the_place_of_the_journal_is_left_alone(tasks, tmp_path, content):
    out = tmp_path / "out.jsonl"
    other = tmp_path / "out.jsonl.partial"
    other.write_bytes(content)
    with pytest.raises(UsageError, match="holds something else"):
        run.run_batch(tasks, str(out), backwards, **ASKED)
    assert other.read_bytes() == content


def test_no_journal_is_written_through_a_link(tasks, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("x")
    (tmp_path / "out.jsonl.partial").symlink_to(precious)
    with pytest.raises(UsageError, match="is a link"):
        run.run_batch(tasks, str(tmp_path / "out.jsonl"), backwards, **ASKED, afresh=True)
    assert precious.read_text() == "x"


def test_the_journal_of_other_columns_is_not_taken_over(tmp_path):
    path = tmp_path / "j"
    path.write_text('{"number": 0, "question": "q", "row": {"id": "a"}}\n')
    kept = journal.Journal(str(path))
    assert len(kept) == 0
    kept.close()


# -- reading ----------------------------------------------------------------------------------------------------------


def test_a_line_that_is_no_task_is_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_LONGEST_LINE", 100)
    path = tmp_path / "tasks.jsonl"
    good = json.dumps({"id": "a", "source": "x"})
    long = json.dumps({"source": "x" * 500})
    path.write_bytes(
        b"\xef\xbb\xbf"
        + good.encode()
        + b"\n\nnot json\n[1]\n\xff\xfe\n"
        + b"[" * 99
        + b"\n"
        + long.encode()
        + b"\n"
        + good.encode()
    )
    out = tmp_path / "out.jsonl"
    run.run_batch(str(path), str(out), lambda tasks: ((n, judge_row(task)) for n, task in enumerate(tasks)), **ASKED)
    rows = read(out)
    assert [row["status"] for row in rows] == ["no-verdict", *["bad-row"] * 5, "no-verdict"]
    assert [row["id"] for row in rows] == ["a", "1", "2", "3", "4", "5", "a"]
    for row, said in zip(
        rows[1:6],
        ["line 3 is not JSON", "line 4 is not a JSON object", "line 5 is not", "line 6 is not", "line 7 is longer"],
    ):
        assert said in row["error"]


def test_the_file_must_be_there(tmp_path):
    for path in ("missing.jsonl", str(tmp_path)):
        with pytest.raises(UsageError):
            run.run_batch(path, str(tmp_path / "out"), backwards, **ASKED)
    assert list(tmp_path.iterdir()) == []


def test_parquet_in_and_out(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    path, out = tmp_path / "tasks.parquet", tmp_path / "out.parquet"
    table = pyarrow.table({
        "id": [1, 2, 3], "source": [KERNEL, None, "x = '\ufffd'"], "reference": [REFERENCE, REFERENCE, None],
        "set": [{"N": 4096, "M": None}, None, None], "large": [[0.5] * 9] * 3,
    })  # fmt: skip
    parquet.write_table(table, path)
    engine = lambda tasks: ((n, judge_row(task)) for n, task in enumerate(tasks))  # noqa: E731
    run.run_batch(str(path), str(out), engine, **ASKED)
    found = parquet.read_table(out)
    assert found.column_names == list(NAMES)
    assert found["id"].to_pylist() == ["1", "2", "3"]
    assert found["status"].to_pylist() == ["ok", "bad-row", "no-verdict"]
    assert 0 < found["gpu_us"][0].as_py() < 20  # of 4096 elements
    assert [str(found.schema.field(name).type) for name in ("id", "gpu_us", "errors", "worth_optimizing")] == [
        "string", "double", "int64", "bool",
    ]  # fmt: skip


def test_a_file_that_is_no_parquet_is_an_error(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "tasks.parquet"
    path.write_bytes(b"PAR1 no")
    assert main(["batch", str(path), "-o", str(tmp_path / "out.jsonl")]) == 2
    assert "cannot be read as Parquet" in capsys.readouterr().err


def test_text_that_parquet_cannot_hold_is_escaped(tmp_path):
    pytest.importorskip("pyarrow")
    path = write(tmp_path / "tasks.jsonl", [{"id": "\ud800", "source": "x"}])
    run.run_batch(path, str(tmp_path / "out.parquet"), backwards, **ASKED)
    assert parquet_rows(tmp_path / "out.parquet")[0]["id"] == "\\ud800"


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_judges_every_row(tmp_path, capsys):
    rows = [
        {"id": "a", "source": KERNEL, "reference": REFERENCE},
        {"id": "b", "source": BROKEN},
        {"source": WITHOUT_KERNEL},
    ]
    path, out = write(tmp_path / "tasks.jsonl", rows), tmp_path / "out.jsonl"
    assert main(["batch", path, "-o", str(out), "--jobs", "2", "--device", "rtx-4090"]) == 0
    found = read(out)
    for row in found:
        jsonschema.validate(row, load("batch"))
    assert [(row["id"], row["status"]) for row in found] == [("a", "ok"), ("b", "invalid-source"), ("2", "no-verdict")]
    assert {row["device"] for row in found} == {"rtx-4090"}
    assert "batch: 3 rows: 1 ok, 1 invalid-source, 1 no-verdict" in capsys.readouterr().err


def test_from_standard_input_to_standard_output(capsys, monkeypatch):
    text = json.dumps({"id": "a", "source": WITHOUT_KERNEL}) + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["batch", "-", "-o", "-", "--jobs", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["status"] == "no-verdict"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["batch"], "no file of tasks given"),
        (["batch", "tasks.jsonl"], "-o FILE is missing"),
        (["batch", "tasks.jsonl", "-o", "no/such/folder"], "no such folder"),
        (["batch", "tasks.jsonl", "-o", "out.csv"], "out.csv: a batch reads and writes .jsonl and .parquet, not .csv"),
        (["batch", "tasks.jsonl.gz", "-o", "out"], "tasks.jsonl.gz: a batch reads and writes"),
        (["batch", "tasks.jsonl", "-o", "out", "--device", "h1000"], "unknown device"),
        (["batch", "none.jsonl", "-o", "out"], "none.jsonl"),
        (["batch", "tasks.jsonl", "-o", "out", "--engine", "ray", "-j", "2"], "--jobs is for --engine local"),
        (["batch", "tasks.jsonl", "-o", "out", "--timeout", "0"], "--timeout"),
    ],
)
def test_wrong_usage_is_one_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tasks.jsonl", [])
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="kills a process group")
def test_a_run_that_is_killed_loses_nothing_that_was_done(tmp_path):
    path = write(tmp_path / "tasks.jsonl", [{"id": str(n), "source": KERNEL + f"\n# {n}"} for n in range(400)])
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "kernlint", "batch", path, "-o", str(out), "--jobs", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    partial = Path(f"{out}.partial")
    deadline = time.monotonic() + 120
    while not (partial.exists() and partial.read_bytes().count(b"\n") >= 5) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)
    done = [
        json.loads(line)["number"] for line in partial.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")
    ]
    assert len(done) >= 5
    write(tmp_path / "tasks.jsonl", [{"id": str(n), "source": KERNEL + f"\n# {n}"} for n in range(8)])
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    kept = sum(number < 8 for number in done)
    assert kept
    assert f"{kept} of them from an earlier run" in again.stderr
    assert [row["id"] for row in read(out)] == [str(n) for n in range(8)]
    assert {row["status"] for row in read(out)} == {"ok"}


@pytest.mark.parametrize(
    "problem",
    [ConnectionError("Failed to connect to Ray cluster at 192.0.2.1:6379"), Exception("The current node\n timed out.")],
)
def test_a_cluster_that_is_not_there_is_named(tmp_path, monkeypatch, capsys, problem):
    def absent(**_):
        raise problem

    ray, data = ModuleType("ray"), ModuleType("ray.data")
    ray.is_initialized, ray.init, ray.data = lambda: False, absent, data
    ray.exceptions = SimpleNamespace(RayError=type("RayError", (Exception,), {}))
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.data", data)
    tasks, out = write(tmp_path / "tasks.jsonl", [{"source": KERNEL}]), tmp_path / "out.jsonl"
    assert main(["batch", tasks, "-o", str(out), "--engine", "ray"]) == 2
    assert f"no Ray cluster: {' '.join(str(problem).split())}\n" in capsys.readouterr().err
    assert not out.exists()
