"""The page in a real browser: no errors, the keys, the filter, print, and the checks of axe-core where it is at hand.

Needs Chromium and Playwright's Python package; axe-core is found by the variable AXE_CORE (its ``axe.min.js``).
"""

import pytest
from support import budgets
from support.batch import KERNEL, REFERENCE
from support.browser import chromium, violations

from kernlint.report.page.html import Page, render
from kernlint.report.page.programs import FileJob, FileReport, report_on

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    files = []
    for name, source, reference in (
        ("task.md", budgets.SEED, None),
        ("kernel.py", KERNEL, REFERENCE),
        ("open.py", budgets.UNKNOWN, None),
    ):
        pair = None if reference is None else ("reference.py", reference)
        files.append(report_on(FileJob(name, source.encode(), pair, "h100-sxm", "gpu", 60.0), lambda so_far: None))
    nasty = "<img src=x onerror=alert(1)><script>document.title='hacked'</script>"
    files.append(FileReport(nasty, error=nasty))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(Page(("src",), "h100-sxm", "gpu", 50), files), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(params=["light", "dark"])
def page(browser, address, request):
    opened = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme=request.param)
    said = []
    asked = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda sent: asked.append(sent.url))
    opened.goto(address)
    opened.scheme = request.param
    yield opened
    assert said == []
    assert asked == [address]  # nothing else is fetched
    opened.close()


def test_it_has_the_colours_that_are_asked_for(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(255, 255, 255)" if page.scheme == "light" else "rgb(20, 23, 27)")


def test_nothing_of_a_source_runs(page):
    assert page.title() == "kernlint report: src"
    assert page.locator("img").count() == 0


def test_programs_are_reached_by_keys(page):
    focused = "document.activeElement.id"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("j")
    assert page.evaluate(focused) == "p1"
    page.keyboard.press("j")
    assert page.evaluate(focused) == "p2"
    page.keyboard.press("j")
    assert page.evaluate(focused) == "p2"
    page.keyboard.press("k")
    assert page.evaluate(focused) == "p1"


def test_the_filter_narrows(page):
    rows = page.locator("table tr[data-text]:visible")
    before = rows.count()
    assert before == 2
    page.keyboard.press("/")
    page.keyboard.type("task kl101")
    assert rows.count() == 1
    assert page.locator("article:visible").count() == 0 or page.locator("#p1").is_visible()
    page.keyboard.press("Escape")
    assert rows.count() == before
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "p1"


def test_pictures_and_tables_fit(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_names_in_pictures_are_inside_of_them(page):
    outside = """[...document.querySelectorAll("svg.chart text")].filter(t => {
        const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
        return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
    }).map(t => t.textContent)"""
    assert page.evaluate(outside) == []


def test_paper_is_white_and_has_everything(page):
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#tools").is_visible()
    page.set_viewport_size({"width": 794, "height": 1123})
    narrow = """[...document.querySelectorAll("table.source td.n")].filter(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(one => Math.round(one.top))).size > 1;
    }).length"""
    assert page.evaluate(narrow) == 0  # no line number is broken
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0
    assert page.pdf().startswith(b"%PDF")


def test_it_is_accessible(page):
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert violations(page) == []
