"""The built site in a real browser: nothing is fetched from elsewhere, nothing is wider than the window, and the checks of axe-core hold.

Needs what builds it (``kernlint[docs]``), Chromium and Playwright; axe-core is found by the variable AXE_CORE.
"""

import functools
import http.server
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.browser import chromium, violations
from support.late import needs

pytestmark = [pytest.mark.slow, needs("material", "docs")]
ROOT = Path(__file__).parents[2]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "tools/build_docs.py", "--stage"], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", site], cwd=ROOT, check=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["", "tutorial/", "cli/", "rules/", "rules/KL101/", "accuracy/"])
def test_a_page(browser, address, name, scheme):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda sent: asked.append(sent.url))
    page.goto(address + name, wait_until="networkidle")
    assert said == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    page.set_viewport_size({"width": 1280, "height": 900})
    assert violations(page) == []
    page.close()
