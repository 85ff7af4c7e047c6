"""The page of `kernlint report`: what is on it, and that nothing of a source can act on it."""

import base64
import hashlib
import json
import os
import re
import signal
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support import budgets
from support.batch import KERNEL, REFERENCE

from kernlint.cli import main
from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.cost.occupancy import occupancy_of
from kernlint.links import DOCS
from kernlint.lint.config import Configurations
from kernlint.report.hot_spots import hot_spots
from kernlint.report.page import collect as collecting
from kernlint.report.page.html import Page, render
from kernlint.report.page.programs import FileJob, FileReport, report_on
from kernlint.report.page.svg import roofline_svg, waterfall_svg, worded
from kernlint.report.waterfall import waterfall
from kernlint.request import Request

PAGE = Page(("src",), "h100-sxm", "gpu", 50)


def told(source, reference=None, name="kernel.py", **options):
    pair = None if reference is None else ("reference.py", reference)
    job = FileJob(name, source.encode(), pair, "h100-sxm", "gpu", 60.0)
    return report_on(replace(job, **options) if options else job, lambda so_far: None)


@cache
def seed():
    return told(budgets.SEED, name="task.md")


@cache
def small():
    return told(KERNEL, REFERENCE)


class Outline(HTMLParser):
    """Ids, links and open elements of a page; unbalanced elements raise."""

    EMPTY = frozenset({"meta", "input", "br"})

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.open, self.tags, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.tags.append((tag, known))
        if "id" in known:
            self.ids.append(known["id"])
        if tag == "a":
            self.links.append(known["href"])
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_seed_has_everything():
    (program,) = seed().programs
    page = render(PAGE, [seed()])
    outline = Outline(page)
    said = " ".join("".join(outline.text).split())
    for words in (
        "Where the difference goes", "Roofline", "Time budget", "Source", "Findings", "Proposed change", "KL101 int8-upcast-before-dot",
        "predicted by a cost model", "occupancy", "of peak memory", "100% of the products", "safe, numerics exact", "PyTorch's own steps",
    ):  # fmt: skip
        assert words in said, words
    assert 40 < program.gain_us < 80
    assert "-    acc = tl.zeros" in "".join(outline.text) or "-    acc = " in "".join(outline.text)
    assert sum(tag == "svg" and known["class"] == "chart" for tag, known in outline.tags) == 2


def test_the_page_stands_alone():
    page = render(PAGE, [seed(), small()])
    outline = Outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    # Nothing is loaded; the reader may follow a link to the page of a rule.
    assert all(link.removeprefix("#") in outline.ids or link.startswith(f"{DOCS}rules/KL") for link in outline.links)
    assert not any("src" in known or ("href" in known and tag != "a") for tag, known in outline.tags)
    assert not any(name.startswith("on") or name == "style" for _, known in outline.tags for name in known)
    for element in ("style", "script"):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.S)
        hashed = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{hashed}'" in page
    assert "http://" not in page
    assert "url(" not in page


def test_what_a_source_says_is_text():
    nasty = "<script>alert(1)</script>\"'&\u202e\x1b[31m"
    report = seed()
    (program,) = report.programs
    verdict = replace(program.verdict, reason=nasty)
    lines = tuple(nasty + line for line in report.lines)
    hostile = replace(
        program, verdict=verdict, diff=f"--- a\n+++ b\n@@ x\n+{nasty}\n", assumptions=(nasty,), diff_note=nasty
    )
    page = render(Page((nasty,), "h100-sxm", "gpu", 50), [FileReport(nasty, lines, (hostile,), nasty)])
    Outline(page)
    assert "<script>alert" not in page
    assert page.count("<script>") == 1
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_a_lone_surrogate_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "collect", lambda *_, **__: [FileReport("a", error="\ud800")])
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "r.html")]) == 0
    Outline((tmp_path / "r.html").read_text())


def test_ranked_by_what_there_is_to_gain():
    page = render(PAGE, [small(), seed()])
    assert page.index('href="#p1">task.md') < page.index("kernel.py: ModelNew.forward")
    short = render(replace(PAGE, top=1), [small(), seed()])
    assert 'id="p1"' in short
    assert 'id="p2"' not in short
    assert "The last 1 are in this table only" in short


def test_a_program_without_times_is_told_of_in_a_row():
    report = told(budgets.UNKNOWN)
    page = render(PAGE, [report])
    assert "1 program without times" in page
    assert "No program here has a predicted time" in page
    assert "<article" not in page


def test_plausible_sizes_are_said_to_be_assumed():
    report = told(budgets.OPEN)
    page = render(PAGE, [report])
    assert "<td>assumed</td>" in page
    assert "plausible one by its name and place" in page
    assert "<td>proven</td>" in render(PAGE, [small()])


def test_nothing_at_all():
    Outline(render(PAGE, []))


@pytest.mark.parametrize(
    ("source", "error"),
    [("def f(:", "syntax error"), ("\0", "binary"), ("import triton\n", "no Triton kernel")],
)
def test_a_file_that_cannot_be_told_of(source, error):
    report = told(source)
    assert error in report.error
    assert report.programs == ()
    assert "1 file not analysed completely" in render(PAGE, [report])


def test_backticks_are_code_and_lines_stay():
    assert worded("a `b<` c ` d\n2. e") == "a <code>b&lt;</code> c ` d<br>2. e"
    assert worded("") == ""


def test_a_device_that_nobody_measured_is_said_to_be_scaled():
    assert "are scaled from" not in render(PAGE, [small()]).split("<main")[0]
    scaled = told(KERNEL, REFERENCE, device="rtx-4090")
    assert "Times on rtx-4090 are scaled from" in render(PAGE, [scaled]).split("<main")[0]


# -- the data behind it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["gpu", "call"])
def test_the_waterfall_goes_down_to_the_achievable(scope):
    found = budgets.seed(scope).headroom
    rows = waterfall(found)
    removed = sum(row.us for row in rows if row.kind in ("cause", "rest"))
    assert found.now_us - removed == pytest.approx(found.achievable_us[1], abs=0.01)
    assert rows[0].kind == "now"
    assert rows[-1].kind == "bound"
    picture = waterfall_svg(found, "w")
    assert picture.count("<rect") == len(rows)


def test_bars_of_the_waterfall_have_the_length_of_their_time():
    found = budgets.seed().headroom
    picture = waterfall_svg(found, "w")
    widths = {
        kind: float(width)
        for kind, width in re.findall(r'class="bar (now|bound)" x="[\d.]+" y="[\d.]+" width="([\d.]+)"', picture)
    }
    assert widths["bound"] / widths["now"] == pytest.approx(found.bound_us / found.now_us, rel=0.02)


def test_points_of_the_roofline_lie_where_their_numbers_say():
    budget = budgets.seed()
    picture = roofline_svg(budget, "r")
    (before,) = re.findall(r'<circle class="point before" cx="([\d.]+)" cy="([\d.]+)"', picture)
    (after,) = re.findall(r'<rect class="point after" x="([\d.]+)" y="([\d.]+)"', picture)
    assert float(after[1]) < float(before[1])  # faster is higher up
    assert roofline_svg(budgets.unknown(), "r") == ""


def test_hot_spots_are_shares():
    (program,) = seed().programs
    for what in ("time", "bytes", "operations"):
        assert sum(spot.share for spot in program.spots if spot.what == what) == pytest.approx(1.0, abs=0.02)
    lines = seed().lines
    (product,) = [spot for spot in program.spots if spot.what == "operations"]
    assert "tl.dot" in lines[product.line - 1]
    for spot in program.spots:
        if spot.what == "bytes":
            assert any("tl.load" in line or "tl.store" in line for line in lines[spot.line - 1 : spot.line + 4])


def test_occupancy_is_that_of_the_grid():
    from kernlint.analysis import read_program

    device = find_device("h100-sxm")
    (workload,) = read_program(Request(KERNEL, reference=REFERENCE, device="h100-sxm")).workloads
    (launch,) = workload.launches()
    found = occupancy_of(launch, device)
    assert (found.programs, found.warps) == (16384, 4)
    assert found.resident * 4 <= device.max_warps_per_sm
    assert found.possible == found.filled == pytest.approx(found.resident * 4 / device.max_warps_per_sm)
    few = occupancy_of(replace(launch, grid=(33,)), device)
    assert few.filled == pytest.approx(33 / device.sm_count * 4 / device.max_warps_per_sm)
    assert occupancy_of(replace(launch, grid=(0,)), device) is None
    assert hot_spots(estimate(workload, device))


def test_shares_of_peak_are_sane():
    for report in (seed(), small()):
        for program in report.programs:
            for kernel in program.kernels:
                for share in (kernel.memory, kernel.arithmetic):
                    assert share is None or 0 <= share <= 1.05


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/kernel.py").write_text(KERNEL)
    (tmp_path / "src/reference.py").write_text(REFERENCE)
    (tmp_path / "src/other.py").write_text("print('no kernel')\n")
    (tmp_path / "src/broken.py").write_text("import triton\n@triton.jit\ndef f(:\n")
    (tmp_path / "src/book.ipynb").write_text(json.dumps({"cells": [], "triton": "jit"}))
    (tmp_path / "kernlint.toml").write_text('[references]\n"src/kernel.py" = "src/reference.py"\n')
    assert main(["report", "src", "-o", "report.html", "--jobs", "1"]) == 0
    page = (tmp_path / "report.html").read_text()
    outline = Outline(page)
    assert "p1" in outline.ids
    assert "2 files not analysed completely" in page
    assert "src/other.py" not in page
    assert capsys.readouterr().err == "report: 1 program of 3 files\n"
    assert main(["report", "src", "-o", "-", "--jobs", "1"]) == 0
    assert capsys.readouterr().out == page
    given = ["--isolated", "--reference", "src/reference.py"]
    assert main(["report", "src/kernel.py", "-o", "-", "--jobs", "1", *given]) == 0
    assert 'id="p1"' in capsys.readouterr().out


def test_launchers_in_other_files_of_a_project_are_programs_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    kernel, _, _ = budgets.OPEN.partition("def double(x)")
    (tmp_path / "pyproject.toml").touch()
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(kernel.replace("double_kernel", f"{name}_kernel"))
    (tmp_path / "use.py").write_text(
        "import torch\nfrom a import a_kernel\nfrom b import b_kernel\n\ndef run():\n    x = torch.randn(1 << 22, device='cuda')\n"
        "    a_kernel[(4096,)](x, x.numel(), BLOCK=1024)\n    b_kernel[(4096,)](x, x.numel(), BLOCK=1024)\n    return x\n"
    )
    assert main(["report", ".", "-o", "r.html", "--isolated", "--jobs", "1"]) == 0
    page = (tmp_path / "r.html").read_text()
    assert page.count('<article id="') == 1
    assert "a.py: run (use.py)" in page
    assert 'id="p1-L9"' in page  # the lines of the kernel's own file are marked


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report"], "-o FILE is missing"),
        (["report", "-o", "no/such/folder"], "no such folder"),
        (["report", "none", "-o", "r.html"], "none: no such file"),
        (["report", "-o", "r.html", "--device", "h1000"], "unknown device"),
        (["report", "-o", "r.html", "--isolated", "--config", "x"], "contradict"),
    ],
)
def test_wrong_usage_is_one_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="patches what is forked")
def test_a_file_that_kills_its_worker_costs_its_own_rows(tmp_path, monkeypatch):
    from kernlint import crew

    def report_on(job, begun):
        begun(lambda: FileReport(job.shown))
        if b"crash" in job.data:
            os.kill(os.getpid(), signal.SIGKILL)
        return FileReport(job.shown)

    monkeypatch.setattr(collecting, "report_on", report_on)
    monkeypatch.setattr(crew, "_threads", lambda: 1)
    for name, text in (("a", "fine"), ("b", "crash"), ("c", "fine")):
        (tmp_path / f"{name}.py").write_text(f"# triton jit {text}\n")
    asked = {"device": None, "scope": "gpu", "timeout_s": 60.0, "workers": 2}
    files = collecting.collect([str(tmp_path)], Configurations(isolated=True), **asked)
    assert [(Path(file.shown).name, bool(file.error)) for file in files] == [
        ("a.py", False),
        ("b.py", True),
        ("c.py", False),
    ]
    assert "died of SIGKILL" in files[1].error
