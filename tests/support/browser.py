"""Pages in a headless Chromium, driven by Playwright, and what axe-core says of them (AXE_CORE names its ``axe.min.js``)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium here", allow_module_level=True)


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser, as long as it is wanted."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def violations(page: Any) -> list[str]:
    """What axe-core finds wrong with ``page``, with the elements."""
    script = os.environ.get("AXE_CORE", "")
    if not os.path.isfile(script):
        pytest.skip("AXE_CORE names no axe.min.js")
    page.evaluate(Path(script).read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(
        "axe.run().then(result => result.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')))"
    )
    return found
