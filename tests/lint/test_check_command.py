"""The command as a whole: options, streams, exit status; in this process where that shows the same."""

import json
import os
import shutil
import subprocess
import sys

import jsonschema
import pytest
from support.lint import CODE, DOT, KERNEL, findings, kernlint_check

from kernlint.cli import main
from kernlint.schema import load

CLEAN = "import triton\n\n\n@triton.jit\ndef f(x):\n    pass\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KERNLINT_CACHE_DIR", raising=False)
    (tmp_path / "kernlint.toml").write_text("select = ['KL101']\n")
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "clean.py").write_text(CLEAN)
    (tmp_path / "other.py").write_text("def f(:\n")  # nothing of Triton's in it
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    def check(*arguments):
        status = main(["check", *map(str, arguments)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return check


def codes(output):
    return [item["code"] for item in json.loads(output)]


# -- exit status ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["clean.py"], 0),
        (["k.py"], 1),
        (["."], 1),
        (["k.py", "--exit-zero"], 0),
        (["k.py", "--fail-on", "error"], 0),
        (["k.py", "--severity", "KL101=info"], 0),
        (["k.py", "--severity", "KL101=info", "--fail-on", "info"], 1),
        (["k.py", "--severity", "KL101=error", "--fail-on", "error"], 1),
        (["other.py"], 1),
        (["none.py"], 2),
        (["k.py", "--select", "KL110"], 2),
        (["k.py", "--ignore", "zebra"], 2),
        (["k.py", "--per-file-ignores", "k.py:zebra"], 2),
        (["k.py", "--per-file-ignores", "KL101"], 2),
        (["k.py", "--severity", "KL101"], 2),
        (["k.py", "--severity", "KL101=fatal"], 2),
        (["k.py", "--device", "h1000"], 2),
        (["k.py", "--target-triton", "new"], 2),
        (["k.py", "--config", "none.toml"], 2),
        (["k.py", "--config", "kernlint.toml", "--isolated"], 2),
        (["k.py", "--baseline", "none.json"], 2),
        (["k.py", "--update-baseline"], 2),
        (["k.py", "--update-baseline", "--baseline", "b", "--diff-base", "main"], 2),
        (["k.py", "--add-ignore", ""], 2),
        (["k.py", "--stdin-filename", "x.py"], 2),
        (["-", "k.py"], 2),
        (["k.py", "--update-baseline", "--baseline", "b", "--add-ignore", "x"], 2),
        (["-", "--add-ignore", "x"], 2),
        (["k.py", "--select", ""], 2),
        (["k.py", "--select", " , "], 2),
        (["k.py", "--diff-base", "no-such-commit"], 2),
        (["k.py", "--statistics", "--output-format", "sarif"], 2),
        (["k.py", "--diff"], 1),
        (["k.py", "--diff", "--exit-zero"], 0),
        (["k.py", "--output-format", "xml"], 2),
        (["k.py", "--output-file", "no/such/folder/x"], 2),
        (["k.py", "--jobs", "0"], 2),
        (["k.py", "--timeout", "0"], 2),
        (["k.py", "--timeout", "-1"], 2),
        (["k.py", "--timeout", "nan"], 2),
        (["k.py", "--timeout", "inf"], 2),
        (["k.py", "--timeout", "1e300"], 2),
        (["--zebra"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_status(run, arguments, status):
    code, out, err = run(*arguments)
    assert code == status
    if status == 2:
        assert out == "" or "--output-file" in arguments
        assert err.startswith("kernlint: error: ")
        assert err.count("\n") == 1


def test_did_you_mean(run):
    assert "did you mean int8-upcast-before-dot" in run("--select", "int8-upcast", "k.py")[2]


OPEN = """
import torch
import triton
import triton.language as tl

@triton.jit
def double_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def double(x):
    y = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
    return y
"""


def test_where_sizes_are_open_the_last_line_says_what_judges_the_speed(run, folder):
    (folder / "open.py").write_text(OPEN)
    told = "The speed of `double` was not judged"
    for _ in range(2):  # worked out, then remembered
        assert run("open.py")[1].splitlines()[-1].startswith(told)
    silent = (
        ["--assume", "double.x:float32[4096,4096]"],
        ["--select", "correctness"],
        ["--hide", "info"],
        ["--statistics"],
    )
    assert all("was not judged" not in "".join(run("open.py", *given)[1:]) for given in silent)


def test_nothing_to_check_is_said(run, folder):
    (folder / "empty").mkdir()
    assert run("empty") == (
        0,
        "No findings in 0 files.\n",
        "kernlint: no Python files, notebooks or Markdown to check here\n",
    )


# -- what is checked --------------------------------------------------------------------------------------------------


def test_a_folder_shows_syntax_errors_of_kernels_only(run, folder):
    assert codes(run(".", "--output-format", "json")[1]) == [CODE]
    (folder / "broken.py").write_text("import triton\n@triton.jit\ndef f(:\n")
    assert codes(run("--output-format", "json")[1]) == ["KL901", CODE]


def test_one_bad_file_does_not_stop_the_rest(run, folder):
    (folder / "latin.py").write_bytes(b"import triton; triton.jit; x = '\xe9'\n")
    (folder / "deep.py").write_text("import triton; triton.jit\nx = " + "(" * 3000 + ")" * 3000)
    assert sorted(codes(run("--output-format", "json")[1])) == [CODE, "KL902", "KL903"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--select", "int8-upcast-before-dot"], True),
        (["--select", "KL1,KL2"], True),
        (["--select", "KL2"], False),
        (["--ignore", "KL101"], False),
        (["--ignore", "KL1", "--extend-select", "KL101"], True),
        (["--per-file-ignores", "k*.py:KL101"], False),
        (["--per-file-ignores", "tests/**:KL101"], True),
        (["--isolated", "--select", "precision"], True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_selection(run, arguments, found):
    assert (CODE in codes(run("k.py", *arguments, "--output-format", "json")[1])) is found


def test_references_come_from_the_configuration(run, folder):
    launcher = (
        KERNEL.split("def multiply")[0]
        + """
class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty((2048, 2048), device="cuda", dtype=torch.float32)
        product[(16, 16)](a, b, c, 2048, 2048, 2048, BM=128, BN=128, BK=64, num_warps=8)
        return c
"""
    )
    (folder / "kernels").mkdir()
    (folder / "kernels" / "foo.py").write_text(launcher)
    (folder / "ref.py").write_text("""
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
def get_inputs():
    return [torch.zeros(2048, 2048, dtype=torch.int8), torch.zeros(2048, 2048, dtype=torch.int8)]
def get_init_inputs():
    return []
""")
    assert codes(run("kernels", "--output-format", "json")[1]) == []
    (folder / "kernlint.toml").write_text("select = ['KL101']\nreferences = { 'kernels/foo.py' = 'ref.py' }\n")
    assert codes(run("kernels", "--output-format", "json")[1]) == [CODE]


def test_show_files_and_settings(run):
    assert run("--show-files", ".") == (0, "clean.py\nk.py\nother.py\n", "")
    status, out, _ = run("--show-settings", "k.py", "--device", "a100")
    assert status == 0
    shown = json.loads(out)
    assert [code for code in shown["rules"] if code < "KL9"] == [CODE]
    assert shown["device"].startswith("a100")


# -- output -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["text", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson"]
)
def test_every_format_prints_the_finding(run, name):
    status, out, err = run("k.py", "--output-format", name)
    assert status == 1
    assert CODE in out
    assert err == ""
    assert "\x1b" not in out


def test_an_output_file_is_written_whole(run, folder):
    status, out, _ = run("k.py", "--output-format", "json", "--output-file", "out.json")
    assert (status, out) == (1, "")
    jsonschema.Draft202012Validator(load("check")).validate(json.loads((folder / "out.json").read_text()))
    assert not list(folder.glob("*.tmp"))


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="none here")
@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/stderr"])
def test_an_output_file_may_be_a_stream(folder, name):
    done = kernlint_check("k.py", "--output-file", name, "--output-format", "json", cwd=folder)
    assert codes(done.stderr if name.endswith("err") else done.stdout) == [CODE]
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("environment", "arguments", "coloured"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--output-format", "concise"], False),
        ({"FORCE_COLOR": "1"}, ["--output-file", "out"], False),
    ],
)
def test_colours(run, folder, monkeypatch, environment, arguments, coloured):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    text = run("k.py", *arguments)[1] or (folder / "out").read_text()
    assert ("\x1b[" in text) is coloured


def test_statistics(run):
    assert run("k.py", "--statistics")[1].startswith("1  KL101  int8-upcast-before-dot\n")
    line = '{"code": "KL101", "name": "int8-upcast-before-dot", "count": 1}\n'
    assert run("k.py", "--statistics", "--output-format", "json-lines")[1] == line
    assert json.loads(run("k.py", "--statistics", "--output-format", "json")[1]) == [json.loads(line)]


# -- suppression, baseline, diff --------------------------------------------------------------------------------------


def test_add_ignore_then_nothing(run, folder):
    status, _, err = run("k.py", "--add-ignore", "known to be slow")
    assert (status, err) == (0, "1 finding suppressed, 0 left.\n")
    assert f"        # kernlint: ignore[KL101] known to be slow\n{DOT}" in (folder / "k.py").read_text()
    assert run("k.py")[0] == 0


def test_why_a_file_was_not_suppressed_is_told(run, folder):
    (folder / "odd.py").write_text(f"# coding: unicode_escape\n{KERNEL}")
    status, _, err = run("k.py", "odd.py", "--add-ignore", "known")
    assert status == 1
    assert (
        err
        == "kernlint: odd.py: in unicode_escape it would not be written as it was read\n1 finding suppressed, 1 left.\n"
    )


def test_baseline(run, folder):
    assert run(".", "--baseline", "known.json", "--update-baseline")[0] == 0
    assert run(".", "--baseline", "known.json")[0] == 0
    (folder / "k.py").write_text("# moved\n" + KERNEL)
    assert run(".", "--baseline", "known.json")[0] == 0
    (folder / "k.py").write_text(KERNEL.replace(DOT, f"{DOT}\n{DOT}"))
    assert run(".", "--baseline", "known.json")[0] == 1
    (folder / "k.py").write_text(CLEAN)
    status, _, err = run(".", "--baseline", "known.json")
    assert status == 0
    assert "no longer found: k.py: KL101" in err
    (folder / "kernlint.toml").write_text("select = ['KL101']\nbaseline = 'known.json'\n")
    assert run(".", "--update-baseline")[0] == 0
    assert run(".")[2] == ""


def test_a_baseline_in_parts(run, folder):
    (folder / "a").mkdir()
    (folder / "a" / "k.py").write_text(KERNEL)
    assert run(".", "--baseline", "known.json", "--update-baseline")[2] == "known.json: 2 findings noted.\n"
    assert run(".", "--baseline", "known.json", "--select", "KL2")[2] == ""
    arguments = ("--baseline", "known.json", "--update-baseline")
    assert run("a", *arguments)[2] == "known.json: 1 finding noted, 1 of other files and rules kept.\n"
    assert run(".", "--baseline", "known.json")[0] == 0
    (folder / "kernlint.toml").write_text("")
    assert run(".", "--baseline", "kernlint.toml", "--update-baseline")[0] == 2


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_diff_base(run, folder):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True, cwd=folder)

    git("init", "-q")
    git("add", "k.py")
    git("commit", "-qm", "one")
    assert run("k.py", "--diff-base", "HEAD")[0] == 0
    (folder / "k.py").write_text(KERNEL.replace(DOT, DOT + "  # changed"))
    assert run("k.py", "--diff-base", "HEAD")[0] == 1


# -- cache ------------------------------------------------------------------------------------------------------------


def test_a_second_run_does_not_analyse(run, folder, monkeypatch):
    first = run(".", "--output-format", "json")
    assert (folder / ".kernlint_cache").is_dir()
    monkeypatch.setattr("kernlint.lint.pool.run_jobs", lambda jobs, workers: pytest.fail("it analysed"))
    assert run(".", "--output-format", "json") == first
    assert run("k.py", "--output-format", "json") == first


def test_a_change_is_seen_through_the_cache(run, folder):
    assert run("k.py")[0] == 1
    before = os.stat("k.py")
    (folder / "k.py").write_text(
        KERNEL.replace("tl.dot(a.to(tl.float32), b.to(tl.float32))", "tl.dot(a, b)" + " " * 30)
    )
    os.utime("k.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat("k.py").st_size == before.st_size
    assert run("k.py")[0] == 0


def test_no_cache_leaves_nothing_behind(run, folder):
    run(".", "--no-cache")
    assert not (folder / ".kernlint_cache").exists()


def test_a_warm_run_imports_no_parser(folder):
    def modules():
        code = "import sys; from kernlint.cli import main; main(['check', '.']); print('libcst' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=folder, check=True, text=True)
        return done.stdout.splitlines()[-1]

    assert [modules(), modules()] == ["True", "False"]


def test_helpers_in_another_module_are_followed_and_remembered(run, folder):
    helper = """import triton
import triton.language as tl

@triton.jit
def widen(x):
    return x.to(tl.float32)
"""
    (folder / "helper.py").write_text(helper)
    source = KERNEL.replace("import triton\n", "import triton\nfrom helper import widen\n", 1)
    (folder / "k.py").write_text(source.replace("a.to(tl.float32), b.to(tl.float32)", "widen(a), widen(b)"))
    assert run("k.py")[0] == 1
    (folder / "helper.py").write_text(helper.replace("x.to(tl.float32)", "x"))
    assert run("k.py")[0] == 0


def test_a_folder_that_cannot_be_read_is_a_finding_like_others(run, folder, monkeypatch):
    (folder / "secret").mkdir()
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    status, out, _ = run(".", "--output-format", "json", "--select", "KL903", "--severity", "KL903=info")
    (found,) = json.loads(out)
    assert (status, found["file"], found["severity"]) == (0, "secret", "info")
    assert len(found["fingerprint"]) == 16
    assert codes(run(".", "--output-format", "json", "--ignore", "KL903")[1]) == [CODE]


# -- as a process -----------------------------------------------------------------------------------------------------


def test_standard_input(folder):
    (found,) = findings("-", cwd=folder, stdin=KERNEL.encode(), status=1)
    assert (found["code"], found["file"]) == (CODE, "<stdin>")
    (found,) = findings("-", "--stdin-filename", "a/b.py", cwd=folder, stdin=KERNEL.encode())
    assert found["file"] == "a/b.py"
    (found,) = findings("-", "--stdin-filename", "a.md", cwd=folder, stdin=f"```python\n{KERNEL}```\n".encode())
    assert found["location"]["line"] == 16
    assert findings("-", cwd=folder) == []


def test_standard_input_under_an_excluded_name(folder):
    arguments = ("-", "--stdin-filename", "old/k.py", "--exclude", "old")
    assert kernlint_check(*arguments, cwd=folder, stdin=KERNEL.encode()).returncode == 1
    assert kernlint_check(*arguments, "--force-exclude", cwd=folder, stdin=KERNEL.encode()).returncode == 0
    fixed = kernlint_check(*arguments, "--force-exclude", "--fix", cwd=folder, stdin=KERNEL.encode())
    assert fixed.stdout == KERNEL


def test_a_closed_pipe_is_no_crash(folder):
    done = subprocess.run(
        f"{sys.executable} -m kernlint check --no-cache k.py | head -c 1",
        shell=True, capture_output=True, cwd=folder, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["junit", "github"])
def test_programs_get_utf_8_whatever_the_terminal_takes(folder, name):
    (folder / "k.py").rename(folder / "größe.py")
    done = kernlint_check(".", "--output-format", name, cwd=folder, PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert "größe.py" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use stays")
def test_a_working_folder_that_is_gone(folder):
    (folder / "gone").mkdir()
    code = "import os, sys; from kernlint.cli import main; os.rmdir(os.getcwd()); sys.exit(main(['check']))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=folder / "gone", text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kernlint: error: the working folder does not exist\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_a_finding(folder):
    (folder / "secret.py").touch(mode=0o000)
    found = findings("secret.py", "k.py", cwd=folder, status=1)
    assert [item["code"] for item in found] == [CODE, "KL903"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such names")
def test_a_name_that_is_not_text(folder):
    try:
        (folder / os.fsdecode(b"\xff.py")).write_text(KERNEL)
    except OSError:
        pytest.skip("the file system refuses such names")
    for name in ("text", "json", "sarif", "gitlab", "junit", "github"):
        done = kernlint_check(".", "--output-format", name, "--select", "KL101", cwd=folder, PYTHONIOENCODING="utf-8")
        assert done.returncode == 1, done
