"""Globs: what they match is what git and a shell match, and however many stars they have they cost little."""

import os
import random
import shutil
import subprocess
import sys
import time

import pytest

from kernlint.errors import UsageError
from kernlint.lint.config import Configurations, Overrides
from kernlint.lint.discovery import find_files
from kernlint.lint.globs import Segment, expand, reaches, split_pattern, steps_of
from kernlint.lint.patterns import Patterns

#: 60 ways to end a name that almost matches: an expression that tries them all takes longer than the sun lasts.
STARS = "*a" * 60 + "b"
LONG = "a" * 200


def reached(pattern, path):
    return reaches(steps_of(split_pattern(pattern)), path.split("/"))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a", ["a"], ["", "aa", "b"]),
        ("a*", ["a", "ab"], ["", "ba"]),
        ("*a", ["a", "ba"], ["ab"]),
        ("*", ["", "a"], []),
        ("a*a", ["aa", "aba"], ["a"]),
        ("a**b", ["ab", "axb"], ["a", "b"]),
        ("*ab*ba*", ["abba", "xabxbax"], ["aba", "baab"]),
        ("a?c", ["abc"], ["ac", "abbc"]),
        ("[ab]c", ["ac", "bc"], ["cc", "c"]),
        ("[!a-c]", ["d", "-"], ["a", "b"]),
        ("[^a]", ["b"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[[:digit:]x]", ["7", "x"], ["d", ":"]),
        ("[[:nothing:]]", [], ["n", ":"]),
        ("[a", [], ["[a", "a"]),
        ("[]", [], ["[]", ""]),
        ("a\\*", ["a*"], ["ab", "a\\*"]),
        ("a\\", [], ["a", "a\\"]),
        ("a.b", ["a.b"], ["axb"]),
        ("a\nb?", ["a\nb\n"], []),
    ],
)
def test_a_name(pattern, yes, no):
    segment = Segment(pattern)
    assert [name for name in yes if not segment.matches(name)] == []
    assert [name for name in no if segment.matches(name)] == []


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("**/a", ["a", "b/a", "b/c/a"], ["a/b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "ab"]),
        ("a/**b", ["a/xb"], ["a/x/b"]),
        ("**/a/**/b/**", ["a/b/c", "x/a/y/b/c/d"], ["a/b"]),
        ("a[/]b", [], ["a/b"]),
        ("a/[x/]b", ["a/xb"], ["a/x/b"]),
    ],
)
def test_a_path(pattern, yes, no):
    assert [path for path in yes if not reached(pattern, path)] == []
    assert [path for path in no if reached(pattern, path)] == []


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_as_git_has_it(tmp_path):
    names = ["a", "b", "ab", "ba", ".a", "a b", "a-b", "A"]
    paths = []
    for first in names:
        (tmp_path / "d" / first).mkdir(parents=True)
        for second in names[:5]:
            (tmp_path / "d" / first / second).write_text("")
            paths.append(f"d/{first}/{second}")
        paths.append(f"d/{first}")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    chance = random.Random(20)
    pieces = [*"a b A * ** ? / / **/ /** [ab] [!a] [a-c] [[:upper:]] \\a d/ - [".split(), " "]
    differences = []
    for _ in range(400):
        lines = [
            chance.choice(["", "", "", "!", "/", "!/", "#"]) + "".join(chance.choices(pieces, k=chance.randint(1, 6)))
            for _ in range(chance.randint(1, 3))
        ]
        (tmp_path / ".gitignore").write_text("\n".join(lines))
        command = ["git", "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"]
        told = subprocess.run(
            command, input="\0".join(paths), capture_output=True, text=True, cwd=tmp_path, check=False
        )
        fields = told.stdout.split("\0")
        patterns = Patterns.lenient(str(tmp_path), lines)
        for pattern, path in zip(fields[2::4], fields[3::4]):
            expected = None if not pattern else not pattern.startswith("!")
            if patterns.decides(str(tmp_path / path), (tmp_path / path).is_dir()) is not expected:
                differences.append((lines, path, expected))
    assert not differences, "\n".join(map(str, differences[:12]))


@pytest.mark.parametrize("line", ["[b-a]", "x/[9-0]/y", "./k.py", "../k.py"])
def test_what_is_no_pattern(line):
    with pytest.raises(UsageError, match="not a pattern"):
        Patterns("/c", [line])
    assert Patterns.lenient("/c", [line, "k.py"]).decides("/c/k.py") is True


# -- cost -------------------------------------------------------------------------------------------------------------


def test_the_work_grows_with_the_product_of_the_lengths(monkeypatch):
    """Counted, not timed: names that are looked at for a path of n folders and a pattern with as many `**`."""
    calls = []
    matches = Segment.matches
    monkeypatch.setattr(Segment, "matches", lambda self, name: calls.append(0) or matches(self, name))
    assert not reached("**/a/" * 50 + "b", "/".join(["a"] * 200))
    assert len(calls) <= 51 * 200


@pytest.fixture
def starred(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / f"{LONG}.py").write_text("import triton\n")
    return tmp_path


def in_gitignore(root):
    (root / ".gitignore").write_text(f"{STARS}\n/{STARS}\n**/{STARS}/**\n")
    return


def in_the_users_file(root):
    (root / ".git" / "info").mkdir()
    (root / ".git" / "info" / "exclude").write_text(STARS)
    return


def in_the_configuration(root):
    (root / "kernlint.toml").write_text(
        f"include = ['*.py', '{STARS}', 'x/{STARS}']\nexclude = ['{STARS}']\nextend-exclude = ['/{STARS}']\n"
        f"per-file-ignores = {{ '{STARS}' = ['KL1'] }}\nreferences = {{ '{STARS}' = '{LONG}.py' }}\n"
    )
    return


def as_an_option(root):
    return Overrides(extend_exclude=(STARS,), per_file_ignores=((str(root), STARS, ("KL1",)),))


@pytest.mark.parametrize("place", [in_gitignore, in_the_users_file, in_the_configuration, as_an_option])
def test_many_stars_wherever_patterns_are_taken(starred, place):
    overrides = place(starred)
    started = time.process_time()
    configurations = Configurations(overrides)
    (target,) = find_files(["."], configurations).targets
    settings = configurations.of(os.path.dirname(target.path)).of_file(target.path)
    assert target.shown == f"{LONG}.py"
    assert settings.codes
    assert time.process_time() - started < 10


def test_many_stars_as_a_path(starred):
    started = time.process_time()
    with pytest.raises(UsageError, match="as a pattern it matches none"):
        find_files([STARS], Configurations(isolated=True))
    assert time.process_time() - started < 10


# -- expanding --------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a/b/c.py", "a/d.py", "e.py", ".hidden/f.py", "a/.g.py", "[h].py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.py", ["[h].py", "e.py"]),
        ("*/*.py", ["a/d.py"]),
        ("**/*.py", ["[h].py", "a/b/c.py", "a/d.py", "e.py"]),
        ("**/**/**/c.py", ["a/b/c.py"]),
        ("a/**", ["a", "a/b", "a/b/c.py", "a/d.py"]),
        ("a/.*.py", ["a/.g.py"]),
        (".hidden/*", [".hidden/f.py"]),
        ("[[]h].py", ["[h].py"]),
        ("./?.py", ["./e.py"]),
        ("a/../*.py", ["a/../[h].py", "a/../e.py"]),
        ("*.py/*", []),
        ("none/*", []),
    ],
)
def test_expanding(folder, pattern, names):
    assert expand(pattern) == names
    if not pattern.startswith("./"):
        assert expand(str(folder / pattern)) == [str(folder / name) for name in names]


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_links_that_lead_round_are_not_followed(folder):
    for name in ("x", "y", "z"):
        (folder / name).symlink_to(".")
    assert expand("**/**/c.py") == ["a/b/c.py"]


def test_a_range_that_runs_backwards(folder):
    with pytest.raises(UsageError, match="not a pattern: the range b-a runs backwards"):
        find_files(["[b-a].py"], Configurations(isolated=True))
