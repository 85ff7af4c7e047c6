"""Neovim and Helix with the settings of ``editors/``: the editors themselves, where they are on the PATH.

Neovim 0.11 runs without a screen; Helix is typed into, on a screen of tmux.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.late import needs
from support.lint import DOT, KERNEL

pytestmark = needs("pygls", "lsp")

EDITORS = Path(__file__).parents[2] / "editors"
FIXED = DOT.replace(".to(tl.float32)", "")

#: Opens the kernel, waits for what the server has to say, takes the first fix of KL101 and tells all of it as JSON.
_IN_NEOVIM = """
local function wait(ready) assert(vim.wait(90000, ready, 50), debug.traceback("waited in vain")) end
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n") end
local told = {}
vim.cmd.edit("k.py")
wait(function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end)
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
wait(function() return #vim.diagnostic.get(0) > 0 end)
told.findings = vim.tbl_map(function(one) return { one.code, one.lnum } end, vim.diagnostic.get(0))
wait(function() local lens = vim.lsp.codelens.get(0)[1] return lens and lens.command end)
told.lens = vim.lsp.codelens.get(0)[1].command.title
vim.api.nvim_win_set_cursor(0, { told.findings[1][2] + 1, 24 })
local position = vim.lsp.util.make_position_params(0, client.offset_encoding)
local hover, problem = client:request_sync("textDocument/hover", position, 90000, 0)
told.hover = assert(hover, problem).result.contents.value
local function fix(action) return action.title:find("^KL101: Feed") end
vim.lsp.buf.code_action({ apply = true, filter = fix })
wait(function() return text():find("tl.dot%(a, b%)") end)
told.text = text()
io.stdout:write("TOLD " .. vim.json.encode(told) .. "\\n")
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the kernel, where editors find no other settings and `kernlint` is the one under test."""
    (tmp_path / "k.py").write_text(KERNEL)
    program = tmp_path / "bin" / "kernlint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernlint "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def _neovim() -> bool:
    """Whether there is one that knows ``vim.lsp.enable``."""
    if shutil.which("nvim") is None:
        return False
    version = re.search(r"NVIM v(\d+)\.(\d+)", subprocess.check_output(["nvim", "--version"], text=True))
    return version is not None and tuple(map(int, version.groups())) >= (0, 11)


@pytest.mark.skipif(not _neovim(), reason="no Neovim 0.11")
def test_neovim(home: Path) -> None:
    settings = home / "config" / "nvim"
    shutil.copytree(EDITORS / "neovim", settings / "lsp")
    (settings / "init.lua").write_text('vim.lsp.enable("kernlint")\n')
    (home / "script.lua").write_text(_IN_NEOVIM)
    command = ["nvim", "--headless", "-S", "script.lua", "+qa!"]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300)
    found = re.search(r"^TOLD (.*)$", done.stdout, re.MULTILINE)
    assert found, done
    told: dict[str, Any] = json.loads(found[1])
    assert ["KL101", KERNEL.split("\n").index(DOT)] in told["findings"]
    assert "us on h100-sxm" in told["lens"]
    assert "int8-upcast-before-dot" in told["hover"]
    assert FIXED in told["text"].split("\n")


@pytest.fixture
def screen(home: Path) -> Iterator[Callable[..., str]]:
    """What types into a screen, and waits until it shows something."""
    tmux = ["tmux", "-L", f"kernlint-{os.getpid()}", "-f", os.devnull]

    def typed(*keys: str, shows: str) -> str:
        for key in keys:
            subprocess.run([*tmux, "send-keys", key], check=True)
        last = time.monotonic() + 90.0
        while time.monotonic() < last:
            shown = subprocess.check_output([*tmux, "capture-pane", "-p"], text=True)
            if shows in shown:
                return shown
            time.sleep(0.2)
        raise AssertionError(f"{shows!r} is not shown:\n{shown}")

    subprocess.run([*tmux, "new-session", "-d", "-x", "160", "-y", "40", "hx k.py"], cwd=home, check=True)
    yield typed
    subprocess.run([*tmux, "kill-server"], check=False)


@pytest.mark.skipif(not all(map(shutil.which, ("hx", "tmux"))), reason="no Helix, or no tmux to type into")
def test_helix(home: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    shutil.copytree(EDITORS / "helix", home / "config" / "helix")
    typed = request.getfixturevalue("screen")
    typed(shows="● 1")
    typed("]", "d", shows="casts int8 operands to float32")
    typed("Space", "k", shows="int8-upcast-before-dot (KL101)")
    typed("Escape", shows="NOR")
    typed("Space", "a", shows="KL101: Feed `tl.dot` the int8 tiles themselves")
    typed("Enter", shows=FIXED.strip())
    typed(":", "w", "Enter", shows="written")
    assert FIXED in (home / "k.py").read_text().split("\n")
