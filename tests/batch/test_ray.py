"""Rows on a Ray cluster of two workers: the same answers, in order, also when a worker is killed."""

import json
import os
import signal
import threading
import time

import pytest
from support.batch import BROKEN, KERNEL, REFERENCE, WITHOUT_KERNEL

pytestmark = pytest.mark.slow

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

import kernlint  # noqa: E402
from kernlint.batch import ray_engine  # noqa: E402
from kernlint.batch.run import run_batch  # noqa: E402

ASKED = {"device": None, "scope": "gpu", "timeout_s": 60.0}
SOURCES = [KERNEL, BROKEN, WITHOUT_KERNEL, KERNEL + "\n# again"]


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_engine, "_AT_A_TIME", 2)
    path = tmp_path / "tasks.jsonl"
    rows = [{"id": str(n), "source": SOURCES[n % 4], "reference": REFERENCE} for n in range(16)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def found(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_cluster_of_two_says_the_same(cluster, tasks, tmp_path):
    out = tmp_path / "out.jsonl"
    outcome = run_batch(tasks, str(out), ray_engine.judged_by_ray, **ASKED)
    assert outcome.rows == 16
    batch = {"id": list(range(16)), "source": SOURCES * 4, "reference": [REFERENCE] * 16}
    columns = kernlint.analyze_columns(batch, workers=1)
    assert found(out) == [{name: values[n] for name, values in columns.items()} for n in range(16)]


def test_a_killed_worker_loses_nothing(cluster, tasks, tmp_path):
    killed = []
    own = os.getpid()

    def kill():
        """The first two processes of Ray that have a worker of ours as their child."""
        deadline = time.monotonic() + 120
        while len(killed) < 2 and time.monotonic() < deadline:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with_child = _parent_of_ours(pid)
                if with_child is not None and with_child not in (own, *killed):
                    os.kill(with_child, signal.SIGKILL)
                    killed.append(with_child)
                    time.sleep(1.0)
            time.sleep(0.05)

    out = tmp_path / "out.jsonl"
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    outcome = run_batch(tasks, str(out), ray_engine.judged_by_ray, **ASKED)
    killer.join(1)
    assert killed
    assert outcome.rows == 16
    assert [row["id"] for row in found(out)] == [str(n) for n in range(16)]
    assert [row["status"] for row in found(out)] == ["ok", "invalid-source", "no-verdict", "ok"] * 4


def _parent_of_ours(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"serve_descriptor" not in file.read():
                return None
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return None
