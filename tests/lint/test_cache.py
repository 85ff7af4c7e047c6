"""The cache: what it remembers, what makes it forget, and that it never gets in the way."""

import json
import multiprocessing
import os
import shutil
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from support.lint import KERNEL, check

from kernlint.cli import main
from kernlint.lint import cache as caching
from kernlint.lint import known_files
from kernlint.lint.cache import Cache, job_key
from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job, Result
from kernlint.lint.known_files import KnownFiles, content_of, digest_of
from kernlint.lint.selection import catalogue
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import find_rule

JOB = Job("k.py", KERNEL.encode(), FileSettings(frozenset({"KL101"})))


def key_of(job):
    return job_key(job.shown, content_of(job.data).digest, job.reference, job.fixes, job.settings)


KEY = key_of(JOB)


@pytest.fixture(scope="module")
def result():
    found = check(KERNEL) + check("import triton\nx = 1  # kernlint: ignore[KL101]\n")
    assert [finding.code for finding in found] == ["KL101", "KL911"]
    return Result(tuple(found))


def test_what_was_put_comes_back_equal(tmp_path, result):
    cache = Cache(str(tmp_path))
    assert cache.get(KEY) is None
    cache.put(KEY, result)
    assert Cache(str(tmp_path)).get(KEY) == result


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
    assert key_of(other) != KEY


def test_the_contents_of_the_reference_count():
    assert key_of(replace(JOB, reference=("r.py", b"1"))) != key_of(replace(JOB, reference=("r.py", b"2")))


def test_a_changed_helper_module_counts(tmp_path, result):
    helper = tmp_path / "helper.py"
    helper.write_text("x = 1")
    cache = Cache(str(tmp_path / "c"))
    known = replace(result, helpers=((str(helper), digest_of(str(helper))),), undecided=("softmax",))
    cache.put(KEY, known)
    assert cache.get(KEY) == known
    helper.write_text("x = 2")
    assert cache.get(KEY) is None


def test_another_version_of_kernlint_starts_anew(tmp_path, result, monkeypatch):
    Cache(str(tmp_path)).put(KEY, result)
    monkeypatch.setattr(caching, "tool_stamp", lambda: "other")
    assert Cache(str(tmp_path)).get(KEY) is None


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
    cache.put(KEY, replace(result, repeatable=False))
    assert cache.get(KEY) is None


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", "[{}]", "[null]", "null", '[{"code": 1}]'])
def test_rubbish_is_no_answer(tmp_path, result, text):
    cache = Cache(str(tmp_path))
    cache.put(KEY, result)
    Path(cache._path(KEY)).write_text(text)
    assert cache.get(KEY) is None
    cache.put(KEY, result)
    assert cache.get(KEY) == result


def test_a_cache_that_cannot_be_written_is_no_cache(tmp_path, result):
    (tmp_path / "file").write_text("")
    cache = Cache(str(tmp_path / "file"))
    cache.put(KEY, result)
    assert cache.get(KEY) is None


def test_git_and_backups_leave_it_alone(tmp_path, result):
    Cache(str(tmp_path / "c")).put(KEY, result)
    assert (tmp_path / "c" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "c" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_folders_of_old_versions_go(tmp_path, result):
    old, recent = tmp_path / f"0.0-{'0' * 16}", tmp_path / f"0.0-{'1' * 16}"
    foreign = tmp_path / "photographs"
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (1, 1))
    Cache(str(tmp_path)).put(KEY, result)
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
    cache.put(KEY, result)
    (path,) = [path for path in tmp_path.rglob("*.json") if path.name != "rules.json"]
    path.unlink()
    os.mkfifo(path)
    assert cache.get(KEY) is None
    assert digest_of(str(path)) == digest_of("/dev/zero") == ""


def test_the_names_of_the_rules_are_remembered(tmp_path):
    cache = Cache(str(tmp_path))
    assert cache.catalogue() is None
    cache.put_catalogue(catalogue())
    assert tuple(cache.catalogue()) == catalogue()


def _write_and_read(folder, records):
    cache = Cache(folder)
    for _ in range(50):
        cache.put(KEY, records)
        if cache.get(KEY) != records:
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
    assert json.loads(Path(Cache(str(tmp_path))._path(KEY)).read_text())


@pytest.fixture
def settled_at_once(monkeypatch):
    """Nobody can set the time at which the system says that a file changed."""
    monkeypatch.setattr(known_files, "_SETTLED_NS", -1)


def test_what_did_not_change_is_not_read(tmp_path, settled_at_once):
    path = tmp_path / "a.py"
    path.write_text("x = 1")
    first = KnownFiles()
    content = first.look(str(path), path.read_bytes)
    assert first.changed and content == content_of(b"x = 1")
    second = KnownFiles(json.loads(json.dumps(first.to_records())))
    assert second.look(str(path), lambda: pytest.fail("read")) == content
    assert not second.changed


@pytest.mark.parametrize("change", ["size", "times", "replaced", "gone", "pipe"])
def test_what_may_have_changed_is_read(tmp_path, settled_at_once, change):
    path = tmp_path / "a.py"
    path.write_text("x = 1")
    files = KnownFiles()
    files.look(str(path), path.read_bytes)
    other = path.with_name("b.py")
    other.write_text("y = 2")
    if change == "size":
        path.write_text("xy = 1")
    elif change == "times":
        os.utime(path, ns=(0, 0))
    elif change == "replaced":
        shutil.copystat(path, other)
        os.replace(other, path)
    else:
        path.unlink()
        if change == "pipe" and sys.platform != "win32":
            os.mkfifo(path)
    assert files.look(str(path), lambda: b"new") == content_of(b"new")


def test_what_has_just_changed_is_read_again(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("x = 1")
    files = KnownFiles()
    files.look(str(path), path.read_bytes)
    assert not files.changed and files.look(str(path), lambda: b"new") == content_of(b"new")


RECORD = ["a.py", 1, 2, 3, 4, "digest", True]


@pytest.mark.parametrize(
    "record", [None, [], "abc", {}, RECORD[:-1], [*RECORD, 1], [[], *RECORD[1:]], [*RECORD[:-1], 1]]
)
def test_rubbish_is_no_file(record):
    assert KnownFiles([record]).to_records() == []
    assert KnownFiles([record, RECORD]).to_records() == [RECORD]


def test_files_nobody_asks_for_go_where_there_are_too_many(tmp_path, settled_at_once, monkeypatch):
    path = tmp_path / "a.py"
    path.write_text("x = 1")
    files = KnownFiles([["gone.py", *RECORD[1:]]])
    files.look(str(path), path.read_bytes)
    assert len(files.to_records()) == 2
    monkeypatch.setattr(known_files, "_MOST", 1)
    assert [record[0] for record in files.to_records()] == [str(path)]


def test_a_run_on_files_that_did_not_change_reads_none(tmp_path, settled_at_once, monkeypatch, capsys):
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "other.py").write_text("x = 1\n")
    command = ["check", "--isolated", "--cache-dir", str(tmp_path / "c"), str(tmp_path)]
    assert main(command) == 1
    before = capsys.readouterr().out
    monkeypatch.setattr("kernlint.lint.run.read_bytes", lambda path: pytest.fail(f"{path} is read"))
    assert main(command) == 1
    assert capsys.readouterr().out == before
    (tmp_path / "k.py").write_text("# " + KERNEL)
    with pytest.raises(pytest.fail.Exception):
        main(command)


def test_a_fix_that_rests_on_what_other_files_read_is_not_remembered(tmp_path: Path) -> None:
    source = find_rule("KL720").bad
    path = tmp_path / "kernel.py"
    path.write_text(textwrap.dedent(source))
    settings = FileSettings(frozenset({"KL720"}))
    assert check_file(Job(str(path), path.read_bytes(), settings)).repeatable
    assert not check_file(Job(str(path), path.read_bytes(), settings, fixes=True)).repeatable


def test_a_level_that_rests_on_who_imports_the_file_is_not_remembered(tmp_path: Path) -> None:
    rule = find_rule("KL803")
    (tmp_path / "setup.py").write_text("")
    path = tmp_path / "old.py"

    def check(source: str) -> tuple[list[str], bool]:
        path.write_text(textwrap.dedent(source))
        result = check_file(Job(str(path), path.read_bytes(), FileSettings(frozenset({"KL803"}))))
        return [one.severity for one in result.findings], result.repeatable

    assert check(rule.bad) == (["error"], False)
    (tmp_path / "user.py").write_text("try:\n    import old\nexcept ImportError:\n    old = None\n")
    assert check(rule.bad) == (["warning"], False)
    assert check(rule.good) == ([], True)
