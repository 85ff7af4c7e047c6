"""The judge over columns: one flat record for each row, whatever becomes of it."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import jsonschema
import pytest
from support.batch import BROKEN, KERNEL, REFERENCE, WITHOUT_KERNEL, WRONG
from support.hostile import HOSTILE

import kernlint
from kernlint import crew
from kernlint.batch import judge, local
from kernlint.batch.fields import FIELDS, NAMES, STATUSES
from kernlint.batch.judge import judge_row
from kernlint.batch.tasks import row_task
from kernlint.schema import load

ROOT = Path(__file__).parents[2]
SEED = (ROOT / "fixtures/seed/task.md").read_text()


def judged(**row):
    return judge_row(row_task(row, 0, None, "gpu", 60.0))


@pytest.fixture(autouse=True)
def no_crew_stays():
    yield
    local.close()


def test_the_schema_has_the_fields():
    schema = load("batch")
    assert schema["required"] == list(NAMES) == list(schema["properties"])
    for field in FIELDS:
        described = schema["properties"][field.name]
        types = described["type"]
        assert types == (field.type if field.name in ("id", "status") else [field.type, "null"])
        assert described["description"].lower().startswith(field.meaning.lower())
    assert schema["properties"]["status"]["enum"] == list(STATUSES)


def test_a_row_holds_the_verdict():
    row = judged(id="a", source=KERNEL, reference=REFERENCE)
    jsonschema.validate(row, load("batch"))
    verdict = kernlint.analyze(KERNEL, reference=REFERENCE, device="h100-sxm")
    assert (row["id"], row["status"], row["error"], row["device"]) == ("a", "ok", None, "h100-sxm")
    assert (row["worth_optimizing"], row["reason"]) == (verdict.worth_optimizing, verdict.reason)
    assert row["gpu_us"] == pytest.approx(verdict.details.headroom.now_us, rel=1e-3)
    assert row["gpu_speedup"] == pytest.approx(row["reference_gpu_us"] / row["gpu_us"], rel=1e-4)
    assert row["gpu_speedup_low"] < row["gpu_speedup"] < row["gpu_speedup_high"]
    assert (row["launches"], row["torch_calls"], row["coverage"], row["errors"]) == (1, 0, 1.0, 0)
    assert row["certainty"] == "proven"
    assert judged(source=KERNEL)["certainty"] == "assumed"


def test_a_markdown_task_is_one_too():
    row = judged(source=SEED)
    assert (row["id"], row["status"], row["worth_optimizing"]) == ("0", "ok", True)
    assert row["reference_gpu_us"] > 0
    assert row["fix_automatic"] is True


@pytest.mark.parametrize(
    ("row", "status", "said"),
    [
        ({}, "bad-row", "the row has no source"),
        ({"source": None}, "bad-row", "no source"),
        ({"source": float("nan")}, "bad-row", "no source"),
        ({"source": b"x"}, "bad-row", "source is a bytes"),
        ({"source": KERNEL, "reference": 3}, "bad-row", "reference is a int"),
        ({"source": KERNEL, "reference": "def f(:"}, "bad-row", "<reference>:1"),
        ({"source": KERNEL, "device": "h1000"}, "bad-row", "unknown device"),
        ({"source": KERNEL, "set": "[1]"}, "bad-row", "set is a list"),
        ({"source": KERNEL, "set": "{"}, "bad-row", "set is not a JSON object"),
        ({"source": KERNEL, "set": {"N": "many"}}, "bad-row", "not a number"),
        ({"source": KERNEL, "set": {"N": float("inf")}}, "bad-row", "not a number"),
        ({"source": KERNEL, "set": {"not a name": 1}}, "bad-row", "is no name"),
        ({"source": "x" * 8_000_001}, "bad-row", "larger than 8 MB"),
        ({"source": ""}, "no-verdict", "no Triton kernel"),
        ({"source": WITHOUT_KERNEL}, "no-verdict", "no Triton kernel"),
        ({"source": BROKEN}, "invalid-source", "syntax error"),
        ({"source": HOSTILE["parentheses"](9000)}, "invalid-source", "<source>"),
        ({"source": "x = '\ud800'"}, "invalid-source", "<source>"),
        ({"source": "\0"}, "invalid-source", "<source>"),
    ],
)
def test_what_cannot_be_judged_says_why(row, status, said):
    found = judged(**row)
    jsonschema.validate(found, load("batch"))
    assert (found["status"], found["gpu_us"]) == (status, None)
    assert said in found["error"]
    assert "\n" not in found["error"]


class Unprintable:
    def __str__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize("value", [Unprintable(), object(), [1], {"a": 1}, 10**5000], ids=range(5))
@pytest.mark.parametrize("column", ["id", "source", "reference", "device", "set"])
def test_whatever_a_row_holds_nothing_is_raised(column, value):
    assert judged(**({"source": KERNEL} | {column: value}))["status"] in ("ok", "bad-row")


def test_settings_and_devices_are_those_of_the_row():
    here = judged(source=KERNEL, reference=REFERENCE)
    larger = judged(source=KERNEL, reference=REFERENCE, set={"N": 4 * 16777216})
    assert 3.5 < larger["gpu_us"] / here["gpu_us"] < 4.5
    assert judged(source=KERNEL, reference=REFERENCE, set='{"N": 67108864, "M": null}') == larger
    slower = judged(source=KERNEL, reference=REFERENCE, device="a100")
    assert slower["gpu_us"] > here["gpu_us"]
    assert slower["device"].startswith("a100")


def test_the_working_folder_is_not_looked_into(tmp_path, monkeypatch):
    """A program of a batch has no place among files: what it imports, and who calls it, is not looked for."""
    source = "from helpers import doubled\n" + KERNEL.replace("2.0 * tl.maximum(x, 0.0)", "doubled(tl.maximum(x, 0.0))")
    before = judged(source=source)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "helpers.py").write_text("import triton\n\n@triton.jit\ndef doubled(x):\n    return x * 2\n")
    (tmp_path / "test_it.py").write_text(
        "import torch\nfrom source import ModelNew\nModelNew()(torch.randn(77, device='cuda'))\n"
    )
    monkeypatch.chdir(tmp_path)
    assert judged(source=source) == before


def test_what_is_no_number_is_null():
    assert [judge._rounded(value) for value in (None, float("inf"), float("nan"), 0.0, 1234567.8)] == [
        None,
        None,
        None,
        0.0,
        1234570.0,
    ]


def test_what_is_surely_wrong_is_counted():
    row = judged(source=WRONG, reference=REFERENCE)
    assert row["errors"] >= 1
    assert "KL705" in row["error_rules"].split()


def test_a_comment_does_not_suppress_what_is_wrong():
    ignored = WRONG.replace("BLOCK: tl.constexpr):", "BLOCK: tl.constexpr):  # kernlint: ignore")
    lines = "\n".join(
        f"{line}  # kernlint: ignore[ALL] -- fine" if "tl." in line else line for line in ignored.split("\n")
    )
    assert judged(source=lines, reference=REFERENCE)["errors"] == judged(source=WRONG, reference=REFERENCE)["errors"]


def test_what_triton_refuses_is_wrong_where_it_is_launched():
    refused = KERNEL.replace("tl.load(", "tl.laod(")
    assert "KL701" in judged(source=refused, reference=REFERENCE)["error_rules"].split()
    unused = refused.split("class ModelNew")[0].replace("scale_kernel", "unused")
    assert judged(source=unused + KERNEL, reference=REFERENCE)["errors"] == 0


def test_columns_come_back_in_order():
    found = kernlint.analyze_columns(
        {"id": ["a", "b", "c"], "source": [KERNEL, None, BROKEN], "other": [1, 2, 3]}, workers=2
    )
    assert list(found) == list(NAMES)
    assert found["id"] == ["a", "b", "c"]
    assert found["status"] == ["ok", "bad-row", "invalid-source"]


@pytest.mark.parametrize(
    ("batch", "statuses"),
    [
        ({}, []),
        ({"source": []}, []),
        ({"id": ["a", "b"]}, ["bad-row", "bad-row"]),
        ({"id": [1, 2], "source": [WITHOUT_KERNEL]}, ["no-verdict", "bad-row"]),
    ],
)
def test_columns_of_any_length(batch, statuses):
    assert kernlint.analyze_columns(batch, workers=1)["status"] == statuses


def test_arguments_that_make_no_sense_stand_in_the_rows():
    assert kernlint.analyze_columns({"source": [KERNEL]}, device="h1000")["status"] == ["bad-row"]
    (error,) = kernlint.analyze_columns({"source": [KERNEL]}, scope="host")["error"]
    assert "unknown scope" in error


def test_arrays_will_do():
    numpy = pytest.importorskip("numpy")
    found = kernlint.analyze_columns({"source": numpy.array([WITHOUT_KERNEL, BROKEN], dtype=object)}, workers=1)
    assert found["status"] == ["no-verdict", "invalid-source"]


# -- crashes and limits -----------------------------------------------------------------------------------------------

only_forked = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="patches what is forked")


@pytest.fixture
def behave(monkeypatch):
    """Workers that do what the source says."""

    def judge_row(task):
        if task.source == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if task.source.startswith("killed once:") and not os.path.exists(path := task.source.partition(":")[2]):
            open(path, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        if task.source == "hang":
            time.sleep(600)
        if task.source == "bug":
            raise ValueError("two\nlines")
        return judge.unanswered(task, "no-verdict", "fine")

    monkeypatch.setattr(local, "judge_row", judge_row)
    monkeypatch.setattr(crew, "_LOADED", 2.0)
    monkeypatch.setattr(crew, "_threads", lambda: 1)  # whatever other tests have left running


@only_forked
@pytest.mark.parametrize("workers", [1, 3])
def test_one_program_costs_one_row(behave, workers):
    sources = ["fine", "crash", "fine", "hang", "bug", "fine"]
    found = kernlint.analyze_columns({"source": sources}, workers=workers, timeout_s=0.5)
    assert found["id"] == ["0", "1", "2", "3", "4", "5"]
    assert found["status"] == ["no-verdict", "crashed", "no-verdict", "gave-up", "failed", "no-verdict"]
    assert "died of SIGKILL" in found["error"][1]
    assert "took longer than 0.5 s" in found["error"][3]
    assert "internal error, please report it: ValueError: two lines" in found["error"][4]


@only_forked
@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_worker_loses_nothing(behave, tmp_path, workers):
    found = kernlint.analyze_columns({"source": ["fine", f"killed once:{tmp_path / 'mark'}", "fine"]}, workers=workers)
    assert found["status"] == ["no-verdict"] * 3
    assert (tmp_path / "mark").exists()


@only_forked
def test_workers_stay_and_a_dead_one_is_replaced(behave):
    def worker():
        (waiting,) = local._crew(1)._idle
        return waiting.process

    kernlint.analyze_columns({"source": ["fine"]}, workers=1)
    first = worker()
    kernlint.analyze_columns({"source": ["fine"]}, workers=1)
    assert worker().pid == first.pid
    first.kill()
    first.join()
    assert kernlint.analyze_columns({"source": ["fine"]}, workers=1)["status"] == ["no-verdict"]
    assert worker().pid != first.pid


@only_forked
def test_no_process_at_all_stands_in_the_rows(behave, monkeypatch):
    def refuse(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(crew, "_started", refuse)
    found = kernlint.analyze_columns({"source": ["fine", "fine"]})
    assert found["status"] == ["not-run", "not-run"]
    assert found["error"][0] == "no process can be started: Too many open files"


def test_threads_may_ask_at_the_same_time():
    """Two workers for four threads; and as there are several, the workers are not forked."""
    found = {}

    def ask(number):
        found[number] = kernlint.analyze_columns({"id": [number], "source": [KERNEL]}, workers=2)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: (rows["id"], rows["status"]) for number, rows in found.items()} == {
        number: ([str(number)], ["ok"]) for number in range(4)
    }
    assert len(local._crew(2)._idle) <= 2


@only_forked
def test_a_program_of_threads_is_not_run_again_by_its_workers(tmp_path):
    """A training script has no guard, and what a worker imports must not be what lies in the working folder."""
    (tmp_path / "json.py").write_text("print('imported')\n")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import threading
            from kernlint.batch import local
            from kernlint import analyze_columns

            print("begun", flush=True)
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            found = analyze_columns({"source": ["x = 1"]}, workers=1)
            print(found["status"], type(next(iter(local._crews.values()))._idle[0].process).__name__)
            """
        )
    )
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = (
        [sys.executable, "-P", str(script)] if sys.version_info >= (3, 11) else [sys.executable, "-I", str(script)]
    )
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=clean, check=True)
    assert done.stdout == "begun\n['no-verdict'] _Program\n"
    assert json.__file__ is not None
