"""Baselines: what they hold back, through edits and renames, and what goes stale in them."""

import json

import pytest
from support.lint import DOT, KERNEL, check

from kernlint.errors import UsageError
from kernlint.lint.baseline import Baseline, apply_baseline, read_baseline, write_baseline


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(KERNEL)
    path = str(tmp_path / "known.json")
    assert write_baseline(Baseline(path), check(KERNEL), ran("k.py")) == (1, 0)
    return path


def ran(*files, codes=("KL101",)):
    return dict.fromkeys(files, frozenset(codes))


def applied(base, findings, checked=("k.py",), codes=("KL101",)):
    new, stale = apply_baseline(findings, read_baseline(base), ran(*checked, codes=codes))
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


def test_unless_its_rule_did_not_run(base):
    assert applied(base, [], codes=["KL102"]) == ([], [])


def test_unless_its_file_could_not_be_analysed(base):
    failure = check("def f(:\n")
    assert applied(base, failure) == ([failure[0].place.line], [])


def test_an_update_keeps_entries_of_other_files_and_rules(base):
    known = read_baseline(base)
    assert write_baseline(known, check(KERNEL, "other.py"), ran("other.py")) == (1, 1)
    assert [entry.file for entry in read_baseline(base).entries] == ["k.py", "other.py"]
    assert write_baseline(known, [], ran("k.py", codes=["KL102"])) == (0, 1)
    assert read_baseline(base) == known


def test_an_update_drops_what_is_gone_or_mended(base, tmp_path):
    known = read_baseline(base)
    assert write_baseline(known, [], ran("k.py")) == (0, 0)
    (tmp_path / "k.py").unlink()
    assert write_baseline(known, [], ran("other.py")) == (0, 0)


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
    assert write_baseline(Baseline(base), failures, ran("k.py")) == (0, 0)
    assert len(applied(base, failures)[0]) == 1


def test_the_file_is_the_same_whatever_the_order(base, tmp_path):
    findings = [*check(KERNEL), *check(KERNEL, "a.py")]
    write_baseline(Baseline(base), findings, ran("k.py", "a.py"))
    first = (tmp_path / "known.json").read_bytes()
    write_baseline(Baseline(base), findings[::-1], ran("k.py", "a.py"))
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
