"""``check --fix``: rounds of fixes that do not get in each other's way."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support import warm
from support.fixes import LOADS, gemm

from kernlint.lint.fixing import apply_fixes
from kernlint.lint.model import Edit, Finding, Fix, Place
from kernlint.lint.run import Outcome

PAIR = Path(__file__).parents[2] / "fixtures/pairs/gemm-int8-upcast-copy"
SOURCE = gemm(LOADS + "xf = x.to(tl.float32)\nacc += tl.dot(xf, y.to(tl.float32))")


def check(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return warm.run([*warm.KERNLINT, "check", "--no-cache", *arguments], input=stdin, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.py").write_bytes((PAIR / "before.py").read_bytes())
    (tmp_path / "reference.py").write_bytes((PAIR / "reference.py").read_bytes())
    (tmp_path / "kernlint.toml").write_text('references = {"kernel.py" = "reference.py"}\n')
    return tmp_path


def test_all_that_is_found_is_fixed(folder: Path) -> None:
    done = check(folder, "--fix")
    text = (folder / "kernel.py").read_text()
    assert done.returncode == 0 and b"was fixed" in done.stderr
    assert "acc = tl.dot(a_q, b_q, acc" in text and ".contiguous()" not in text.split("w_kn = ")[1].split("\n")[0]
    # Nothing is left to do.
    assert b"0 findings in 0 files were fixed" in check(folder, "--fix").stderr
    assert (folder / "kernel.py").read_text() == text


@pytest.mark.parametrize("how", ["searched", "named", "as a link of a folder"])
@pytest.mark.parametrize("option", [["--fix"], ["--add-ignore", "slow"]], ids=["--fix", "--add-ignore"])
def test_a_link_out_of_the_folder_is_read_and_not_written(tmp_path: Path, how: str, option: list[str]) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "kernel.py").write_text(SOURCE)
    (inside / "link.py").symlink_to(outside / "kernel.py")
    if how == "as a link of a folder":  # which whoever names it means
        (inside / "link.py").unlink()
        (inside / "folder").symlink_to(outside)
    arguments = {"searched": [], "named": ["link.py"], "as a link of a folder": ["folder"]}[how]
    done = check(inside, "--isolated", "--select", "KL101", *option, *arguments)
    if how == "as a link of a folder":
        assert done.returncode == 0 and (outside / "kernel.py").read_text() != SOURCE
        return
    real = (outside / "kernel.py").resolve()
    said = f"kernlint: link.py: is a link out of its folder and is not changed; name {real} to change that\n"
    assert said in done.stderr.decode()
    assert done.returncode == 1 and b"KL101" in done.stdout
    assert (outside / "kernel.py").read_text() == SOURCE and (inside / "link.py").is_symlink()


def test_a_link_to_another_file_of_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "kernel.py").write_text(SOURCE)
    (tmp_path / "b" / "link.py").symlink_to("../a/kernel.py")
    assert check(tmp_path, "--isolated", "--fix", "--select", "KL101", "b/link.py").returncode == 0
    assert (tmp_path / "a" / "kernel.py").read_text() != SOURCE and (tmp_path / "b" / "link.py").is_symlink()


def test_diff_writes_nothing(folder: Path) -> None:
    before = (folder / "kernel.py").read_text()
    done = check(folder, "--diff")
    assert done.returncode == 1 and done.stdout.startswith(b"--- kernel.py\n") and b"could be fixed" in done.stderr
    assert (folder / "kernel.py").read_text() == before


def test_suppressed_findings_are_left_and_unused_suppressions_go(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    held = SOURCE.replace("        xf =", "        # kernlint: ignore[KL101] exactness first\n        xf =")
    path.write_text(held)
    assert check(tmp_path, "--fix", "--select", "KL101,KL911").returncode == 0
    assert path.read_text() == held
    path.write_text(SOURCE.replace("    return c", "    return c  # kernlint: ignore[KL103] no reason"))
    check(tmp_path, "--fix", "--select", "KL103,KL911")
    assert path.read_text() == SOURCE


def test_unsafe_fixes_wait_for_consent(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    source = SOURCE.replace("s, 4096, BM", "s, a.shape[1], BM")
    path.write_text(source)
    done = check(tmp_path, "--fix", "--select", "KL101")
    assert done.returncode == 1 and path.read_text() == source and b"1 more with --unsafe-fixes" in done.stderr
    assert check(tmp_path, "--fix", "--unsafe-fixes", "--select", "KL101").returncode == 0
    assert "acc += tl.dot(x, y)" in path.read_text()


def test_standard_input(tmp_path: Path) -> None:
    done = check(tmp_path, "-", "--fix", "--select", "KL101", stdin=SOURCE.encode())
    assert b"acc += tl.dot(x, y)" in done.stdout and done.stdout.endswith(b"return c\n")
    assert done.returncode == 0 and b"No findings in 1 file.\n" in done.stderr


def test_what_is_left_of_standard_input_is_told_aside(tmp_path: Path) -> None:
    left = SOURCE.replace("return c", "return c  # kernlint: ignore[KL101")
    done = check(tmp_path, "-", "--fix", "--select", "KL101", "--output-format", "concise", stdin=left.encode())
    assert done.returncode == 1 and b"acc += tl.dot(x, y)" in done.stdout and b"KL912" not in done.stdout
    assert b"warning KL912 malformed-suppression" in done.stderr
    assert check(tmp_path, "-", "--fix", "--exit-zero", stdin=left.encode()).returncode == 0


def test_json_carries_the_fix_and_text_does_not_work_it_out(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(SOURCE)
    (item,) = json.loads(check(tmp_path, "--select", "KL101", "--output-format", "json").stdout)
    assert item["fix"]["applicability"] == "safe" and len(item["fix"]["edits"]) >= 4
    lines = SOURCE.split("\n")
    for edit in item["fix"]["edits"]:
        assert 1 <= edit["location"]["line"] <= len(lines)
    assert b"fix:" not in check(tmp_path, "--select", "KL101").stdout


@pytest.mark.parametrize(
    "arguments", [["--unsafe-fixes"], ["--fix", "--add-ignore", "x"], ["--fix", "--update-baseline", "--baseline", "b"]]
)
def test_contradictions(tmp_path: Path, arguments: list[str]) -> None:
    assert check(tmp_path, *arguments).returncode == 2


# -- rounds, with a checker that finds words ---------------------------------------------------------------------------


def words(replacements: dict[str, str]):  # type: ignore[no-untyped-def]
    """A checker that finds each word of ``replacements`` and offers to replace it."""

    def checker(contents):  # type: ignore[no-untyped-def]
        text = contents.get("a.py", TEXT).decode()
        found = []
        for number, line in enumerate(text.split("\n"), start=1):
            for word, new in replacements.items():
                column = line.find(word)
                if column >= 0:
                    place = Place(number, column + 1, number, column + 1 + len(word))
                    fix = Fix("replace", (Edit(place, new),))
                    found.append(Finding("KL911", word, "warning", "diagnostic", word, "a.py", place, word, fix=fix))
        return Outcome(tuple(found), {"a.py": frozenset()})

    return checker


TEXT = b"one two\nthree\n"


def apply(replacements: dict[str, str]) -> tuple[bytes, int]:
    _, fixes = apply_fixes(words(replacements), lambda outcome: outcome, lambda _: TEXT, unsafe=False)
    return fixes.changed.get("a.py", TEXT), len(fixes.fixed.get("a.py", ()))


def test_fixes_apart_are_made_together_and_touching_ones_one_after_another() -> None:
    assert apply({"one": "1", "three": "3"}) == (b"1 two\n3\n", 2)
    assert apply({"one ": "1_", "two": "2"}) == (b"1_2\nthree\n", 2)


def test_a_fix_that_does_not_help_is_taken_back() -> None:
    assert apply({"one": "xone"}) == (TEXT, 0)
    # The others of the same round are tried again without it.
    assert apply({"one": "xone", "two": "2", "three": "3"}) == (b"one 2\n3\n", 2)


def test_a_file_whose_fix_is_refused_does_not_stop_the_others(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(SOURCE)
    (tmp_path / "b.py").chmod(0o444)
    done = check(tmp_path, "--fix", "--select", "KL101")
    assert [(tmp_path / name).read_text() == SOURCE for name in ("a.py", "b.py", "c.py")] == [False, True, False]
    assert b"kernlint: b.py: is read-only\n" in done.stderr and b"2 findings in 2 files were fixed" in done.stderr
    assert done.returncode == 1 and b"b.py" in done.stdout and b"a.py" not in done.stdout


@pytest.mark.parametrize("coding", ["unicode_escape", "idna"])
def test_a_file_that_would_not_be_written_as_it_was_read_is_left_alone(tmp_path: Path, coding: str) -> None:
    data = f"# coding: {coding}\n{SOURCE}".encode()
    (tmp_path / "a.py").write_bytes(data)
    done = check(tmp_path, "--fix", "--select", "KL101")
    assert (tmp_path / "a.py").read_bytes() == data
    assert done.returncode == 1
    assert b"KL101 not fixed: " in done.stderr and coding.encode() in done.stderr


def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path: Path) -> None:
    from kernlint.cli.check_changes import deliver
    from kernlint.lint.discovery import Target

    path = tmp_path / "a.py"
    path.write_bytes(b"edited meanwhile\n")
    outcome, fixes = apply_fixes(words({"one": "1"}), lambda outcome: outcome, lambda _: TEXT, unsafe=False)
    assert not outcome.findings
    outcome = deliver(outcome, fixes, [Target(str(path), "a.py", explicit=True)], None, diff=False)
    assert path.read_bytes() == b"edited meanwhile\n"
    assert [finding.message for finding in outcome.findings] == ["one"] and not fixes.fixed.get("a.py")
    assert "changed since" in fixes.unwritten["a.py"]


def test_a_file_that_becomes_empty_is_checked_as_it_is_then(tmp_path: Path) -> None:
    path = tmp_path / "triton.py"
    path.write_text("# kernlint: ignore[KL101] nothing left of the triton kernel\n")
    done = check(tmp_path, "--fix", "--select", "KL101,KL911")
    assert done.returncode == 0 and b"1 finding in 1 file was fixed" in done.stderr
    assert path.read_bytes() == b""
