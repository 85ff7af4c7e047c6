"""The cache: what it remembers, what makes it forget, and that it never gets in the way."""

import json
import multiprocessing
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.lint import KERNEL, check

from kernlint.cli import main
from kernlint.lint import cache as caching
from kernlint.lint.cache import Cache, job_key
from kernlint.lint.check_file import Job, Result, digest_of
from kernlint.lint.selection import catalogue
from kernlint.lint.settings import FileSettings

JOB = Job("k.py", KERNEL.encode(), FileSettings(frozenset({"KL101"})))


@pytest.fixture(scope="module")
def result():
    found = check(KERNEL) + check("import triton\nx = 1  # kernlint: ignore[KL101]\n")
    assert [finding.code for finding in found] == ["KL101", "KL911"]
    return Result(tuple(found))


def test_what_was_put_comes_back_equal(tmp_path, result):
    cache = Cache(str(tmp_path))
    assert cache.get(JOB) is None
    cache.put(JOB, result)
    assert Cache(str(tmp_path)).get(JOB) == result


@pytest.mark.parametrize(
    "other",
    [
        replace(JOB, data=b"# " + JOB.data),
        replace(JOB, shown="other.py"),
        replace(JOB, settings=replace(JOB.settings, codes=frozenset({"KL102"}))),
        replace(JOB, settings=replace(JOB.settings, severity={"KL101": "error"})),
        replace(JOB, settings=replace(JOB.settings, device="a100")),
        replace(JOB, settings=replace(JOB.settings, target_triton="3.6")),
        replace(JOB, reference=("ref.py", b"")),
    ],
    ids=["content", "name", "rules", "severity", "device", "Triton", "reference"],
)
def test_what_the_findings_depend_on_is_in_the_key(other):
    assert job_key(other) != job_key(JOB)


def test_the_contents_of_the_reference_count():
    assert job_key(replace(JOB, reference=("r.py", b"1"))) != job_key(replace(JOB, reference=("r.py", b"2")))


def test_a_changed_helper_module_counts(tmp_path, result):
    helper = tmp_path / "helper.py"
    helper.write_text("x = 1")
    cache = Cache(str(tmp_path / "c"))
    known = replace(result, helpers=((str(helper), digest_of(str(helper))),))
    cache.put(JOB, known)
    assert cache.get(JOB) == known
    helper.write_text("x = 2")
    assert cache.get(JOB) is None


def test_another_version_of_kernlint_starts_anew(tmp_path, result, monkeypatch):
    Cache(str(tmp_path)).put(JOB, result)
    monkeypatch.setattr(caching, "tool_stamp", lambda: "other")
    assert Cache(str(tmp_path)).get(JOB) is None


def test_a_changed_rule_changes_the_stamp(monkeypatch, tmp_path):
    (tmp_path / "rule.py").write_text("x = 1")
    monkeypatch.setattr(caching, "_own_folders", lambda: [tmp_path])
    before = caching.tool_stamp()
    (tmp_path / "rule.py").write_text("x = 22")
    assert caching.tool_stamp() != before


def test_the_rules_are_in_the_stamp():
    import kernlint.rules.registry as registry

    assert any(Path(registry.__file__).is_relative_to(folder) for folder in caching._own_folders())


def test_what_may_end_otherwise_is_not_remembered(tmp_path, result):
    cache = Cache(str(tmp_path))
    cache.put(JOB, replace(result, repeatable=False))
    assert cache.get(JOB) is None


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", "[{}]", "[null]", "null", '[{"code": 1}]'])
def test_rubbish_is_no_answer(tmp_path, result, text):
    cache = Cache(str(tmp_path))
    cache.put(JOB, result)
    Path(cache._path(JOB)).write_text(text)
    assert cache.get(JOB) is None
    cache.put(JOB, result)
    assert cache.get(JOB) == result


def test_a_cache_that_cannot_be_written_is_no_cache(tmp_path, result):
    (tmp_path / "file").write_text("")
    cache = Cache(str(tmp_path / "file"))
    cache.put(JOB, result)
    assert cache.get(JOB) is None


def test_git_and_backups_leave_it_alone(tmp_path, result):
    Cache(str(tmp_path / "c")).put(JOB, result)
    assert (tmp_path / "c" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "c" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_folders_of_old_versions_go(tmp_path, result):
    old, recent = tmp_path / f"0.0-{'0' * 16}", tmp_path / f"0.0-{'1' * 16}"
    foreign = tmp_path / "photographs"
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (1, 1))
    Cache(str(tmp_path)).put(JOB, result)
    assert not old.exists()
    assert recent.exists()
    assert foreign.exists(), "it is none of ours"


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_planted_link_is_no_cache(tmp_path, result, monkeypatch):
    """Else what is old there would be removed, and what is not there written."""
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    (elsewhere / f"0.0-{'0' * 16}").mkdir(parents=True)
    os.utime(elsewhere / f"0.0-{'0' * 16}", (1, 1))
    project.mkdir()
    (project / "kernlint.toml").write_text("select = ['KL101']\n")
    (project / "k.py").write_text(KERNEL)
    (project / ".kernlint_cache").symlink_to(elsewhere)
    monkeypatch.chdir(project)
    monkeypatch.delenv("KERNLINT_CACHE_DIR", raising=False)
    assert main(["check"]) == 1
    assert os.listdir(elsewhere) == [f"0.0-{'0' * 16}"]
    (project / ".kernlint_cache").unlink()
    (project / ".kernlint_cache").mkdir()
    (project / ".kernlint_cache" / ".gitignore").symlink_to(elsewhere / "new")
    assert main(["check"]) == 1
    assert not (elsewhere / "new").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_planted_pipe_is_not_waited_for(tmp_path, result):
    cache = Cache(str(tmp_path))
    cache.put(JOB, result)
    (path,) = [path for path in tmp_path.rglob("*.json") if path.name != "rules.json"]
    path.unlink()
    os.mkfifo(path)
    assert cache.get(JOB) is None
    assert digest_of(str(path)) == digest_of("/dev/zero") == ""


def test_the_names_of_the_rules_are_remembered(tmp_path):
    cache = Cache(str(tmp_path))
    assert cache.catalogue() is None
    cache.put_catalogue(catalogue())
    assert tuple(cache.catalogue()) == catalogue()


def _write_and_read(folder, records):
    cache = Cache(folder)
    for _ in range(50):
        cache.put(JOB, records)
        if cache.get(JOB) != records:
            os._exit(1)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_concurrent_runs_never_see_half_a_file(tmp_path, result):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_and_read, args=(str(tmp_path), result)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert not list(tmp_path.rglob("*.tmp"))
    assert json.loads(Path(Cache(str(tmp_path))._path(JOB)).read_text())
