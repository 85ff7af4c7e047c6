"""The command on a real terminal: what fits, what is coloured and linked, and what moves."""

import re
import subprocess
import sys
import time

import pytest
from support import warm
from support.budgets import ROOT
from support.lint import KERNEL
from support.terminal import shown

SEED = ROOT / "fixtures" / "seed" / "task.md"
ESCAPES = re.compile(r"\x1b\[[0-9;]*[mK]|\x1b\]8;;[^\x1b]*\x1b\\|\r")


def run(arguments, width=80, code=None, **env):
    """Standard output and error together, as the terminal gets them, and the status."""
    started = ["-c", code] if code else warm.KERNLINT
    return shown([*started, *arguments], width=width, **{"TERM": "xterm", **env})


@pytest.fixture(autouse=True)
def _nothing_is_said_of_the_terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "k.py"
    path.write_text(KERNEL)
    return path


@pytest.mark.parametrize("width", [60, 80])
def test_check_fits(kernel, width):
    text, status = run(["check", kernel, "--no-cache", "--isolated"], width)
    assert status == 1
    assert "\x1b]8;;https://" in text
    lines = [line for line in ESCAPES.sub("", text).splitlines() if not line.startswith("checking")]
    # The head names the file, which is not ours to shorten.
    assert max(len(line) for line in lines if str(kernel) not in line) <= width


@pytest.mark.parametrize("width", [60, 72])
def test_a_verdict_fits(tmp_path, width):
    """On a terminal the numbers behind an answer are not in its way."""
    path = tmp_path / "k.py"
    path.write_text(KERNEL)
    text, status = run([path], width)
    shown = ESCAPES.sub("", text)
    assert status == 0
    assert '"details"' not in shown
    said = shown[shown.index("\n}\n") :]
    assert "\n  [" in said  # what is gained has no room beside the rest
    assert max(len(line) for line in said.splitlines() if str(path) not in line) <= width
    assert '"details"' in run([path, "--details"], width)[0]


def test_what_commands_are_for_is_not_cut_short():
    shown, status = run(["--help"], 60)
    assert status == 0
    assert "Commands:" in shown and "..." not in shown[shown.index("Commands:") :]


def test_devices_are_not_cut_short():
    shown = ESCAPES.sub("", run(["devices"], 80)[0])
    assert ".." not in shown
    assert "scaled (architecture)" in shown
    assert "NVIDIA H100 PCIe 80GB" in run(["devices"], 140)[0]
    narrow = ESCAPES.sub("", run(["devices"], 60)[0]).splitlines()
    assert max(map(len, narrow)) <= 60
    assert any(line.startswith("h100-sxm") and line.endswith("measured") for line in narrow)


def test_no_color_means_neither_colours_nor_links(kernel):
    text, _ = run(["check", kernel, "--no-cache", "--isolated"], NO_COLOR="1")
    assert "\x1b[1" not in text
    assert "\x1b]8" not in text


def test_explain_keeps_every_number_at_60_columns():
    text, status = run(["explain", SEED], 60)
    assert status == 0
    shown = ESCAPES.sub("", text)
    for number in ("17.3 MB", "1.09 G", "34.8", "4.6-15x", "54.8", "- copies", "32.4", "5.89"):
        assert number in shown
    assert max(len(line) for line in shown.splitlines() if "analysing" not in line) <= 60


WAIT = "from kernlint.cli.progress import Progress; import time, os\n"


def test_a_bar_shows_after_a_second_and_goes():
    code = WAIT + "with Progress('checking', 'files') as p:\n  p(1, 4); time.sleep(1.6)\nprint('over')"
    text, _ = run([], code=code)
    assert re.search(r"checking \[######\.+\] 1 of 4 files, \d s left", text)
    assert text.replace("\r\n", "\n").endswith("\r\x1b[Kover\n")


def test_what_is_quick_shows_none():
    text, _ = run([], code=WAIT + "with Progress('checking', 'files') as p:\n  p(1, 4); time.sleep(0.2)")
    assert text == ""


def test_a_dumb_terminal_and_a_pipe_have_none():
    code = WAIT + "with Progress('checking'): time.sleep(1.5)"
    assert run([], code=code, TERM="dumb")[0] == ""
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert piped.stderr == piped.stdout == b""


def test_a_timer_that_draws_neither_ends_waiting_nor_reaches_children():
    code = WAIT + (
        "import subprocess, sys\n"
        "begun = time.monotonic()\n"
        "with Progress('waiting'):\n"
        "  subprocess.run([sys.executable, '-c', 'import time; time.sleep(1.5)'], check=True)\n"
        "  pid = os.fork()\n"
        "  if not pid: time.sleep(1.3); os._exit(0)\n"
        "  assert os.waitpid(pid, 0)[1] == 0\n"
        "print('took', time.monotonic() - begun > 2.7)"
    )
    begun = time.monotonic()
    text, status = run([], code=code)
    assert (status, time.monotonic() - begun > 2.7) == (0, True)
    assert "took True" in text


def test_within_each_other_only_the_outermost_is_seen():
    code = WAIT + "with Progress('outer'):\n  with Progress('inner'): time.sleep(1.5)"
    text, _ = run([], code=code)
    assert "outer ..." in text
    assert "inner" not in text
