"""Baselines: what they hold back, through edits and renames, and what goes stale in them."""

import json

import pytest
from support.lint import DOT, KERNEL, check

from kernlint.errors import UsageError
from kernlint.lint.baseline import apply_baseline, read_baseline, write_baseline


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(KERNEL)
    path = str(tmp_path / "known.json")
    assert write_baseline(path, check(KERNEL)) == 1
    return path


def applied(base, findings, checked=("k.py",)):
    new, stale = apply_baseline(findings, read_baseline(base), base, checked)
    return [finding.place.line for finding in new], [entry.file for entry in stale]


def test_known_findings_are_held_back(base):
    assert applied(base, check(KERNEL)) == ([], [])


def test_wherever_their_lines_move(base):
    assert applied(base, check("# one\n# two\n" + KERNEL)) == ([], [])


def test_a_second_one_alike_is_new(base):
    twice = check(KERNEL.replace(DOT, f"{DOT}\n{DOT}"))
    assert applied(base, twice) == ([twice[1].place.line], [])


def test_a_mended_one_is_stale(base):
    assert applied(base, []) == ([], ["k.py"])


def test_unless_its_file_was_not_checked(base):
    assert applied(base, [], checked=["other.py"]) == ([], [])


def test_in_a_renamed_file_it_is_still_known(base, tmp_path):
    (tmp_path / "k.py").rename(tmp_path / "new.py")
    assert applied(base, check(KERNEL, "new.py"), ["new.py"]) == ([], [])


def test_in_a_deleted_file_it_is_stale(base, tmp_path):
    (tmp_path / "k.py").unlink()
    assert applied(base, [], ["other.py"]) == ([], ["k.py"])


def test_in_a_copied_file_it_is_new(base):
    (finding,) = check(KERNEL, "copy.py")
    assert applied(base, [*check(KERNEL), finding], ["k.py", "copy.py"]) == ([finding.place.line], [])


def test_failures_are_never_held_back(base):
    failures = check("def f(:\n")
    assert write_baseline(base, failures) == 0
    assert len(applied(base, failures)[0]) == 1


def test_the_file_is_the_same_whatever_the_order(base, tmp_path):
    findings = [*check(KERNEL), *check(KERNEL, "a.py")]
    write_baseline(base, findings)
    first = (tmp_path / "known.json").read_bytes()
    write_baseline(base, reversed(findings))
    assert (tmp_path / "known.json").read_bytes() == first
    assert [entry["file"] for entry in json.loads(first)["findings"]] == ["a.py", "k.py"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a baseline"),
        ("[]", "not a baseline"),
        ('{"version": 1}', "not a baseline"),
        ('{"version": 2, "findings": []}', "of version 2"),
        ('{"version": 1, "findings": [{}]}', "not a baseline"),
    ],
)
def test_what_is_none_is_refused(tmp_path, text, message):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_baseline(str(tmp_path / "b.json"))


def test_a_missing_one_says_how_to_make_it(tmp_path):
    with pytest.raises(UsageError, match="--update-baseline makes one"):
        read_baseline(str(tmp_path / "none.json"))
