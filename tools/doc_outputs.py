"""Runs the commands that README.md and the pages of docs/ show, and writes what they print below them, so that no page shows what is
no longer so.

python tools/doc_outputs.py            write the outputs anew
python tools/doc_outputs.py --check    exit with 1 where a page shows something else

Each fenced block with a title is a file of that name. Of each block called `console` the lines that begin with "$ " and one of
SHOWN are run by bash, in order and in one folder a page, which has the examples, fixtures and tests too; what they print, on both
streams, is the rest of the block. `kernlint verify` runs code and takes its time: `--without verify` leaves it as it is.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: The programs whose output a page shows.
SHOWN = ("kernlint", "sed", "python")

_BLOCK = re.compile(r"^```(?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'\w+ title="([\w.]+)"')


def pages() -> list[Path]:
    """The pages that show what a command prints."""
    texts = ((path, path.read_text(encoding="utf-8")) for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))))
    return [path for path, text in texts if any(_shown(block["body"]) for block in _BLOCK.finditer(text))]


def _shown(body: str) -> bool:
    return body.startswith(tuple(f"$ {name} " for name in SHOWN))


#: What a command line prints in a folder, on standard output and error: these are one stream, but where the last is left out.
Run = Callable[[str, Path, bool], bytes]


def in_shell(command: str, folder: Path, errors: bool) -> bytes:
    # Isolated, it does not read from the environment where compiled modules are.
    compiled = f'-X pycache_prefix="{sys.pycache_prefix}"' if sys.pycache_prefix else ""
    python = f'"{sys.executable}" {compiled}'
    program = f'kernlint() {{ {python} -I -m kernlint "$@"; }}; python() {{ {python} "$@"; }}; {command}'
    other = subprocess.STDOUT if errors else subprocess.DEVNULL
    return subprocess.run(["bash", "-c", program], cwd=folder, stdout=subprocess.PIPE, stderr=other, check=False).stdout


def rewritten(text: str, folder: Path, without: tuple[str, ...] = (), run: Run = in_shell) -> str:
    """The page ``text`` with the outputs that its commands have in ``folder``, where its files are written."""
    for name in ("examples", "fixtures", "tests"):
        (folder / name).symlink_to(ROOT / name)

    def block(match: re.Match[str]) -> str:
        head, body = match["head"], match["body"]
        titled = _TITLE.fullmatch(head)
        if titled:
            (folder / titled[1]).write_text(body, encoding="utf-8")
        if head != "console" or not body.startswith("$ "):
            return match[0]
        return f"```console\n{''.join(_written(part, folder, without, run) for part in _commands(body))}```"

    return _BLOCK.sub(block, text)


def _commands(body: str) -> list[str]:
    """The block in parts that each begin with a command."""
    return [part for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE) if part]


def _written(part: str, folder: Path, without: tuple[str, ...], run: Run) -> str:
    command = part.splitlines()[0].removeprefix("$ ")
    name, *arguments = command.split()
    if name not in SHOWN or (arguments and arguments[0] in without):
        return part
    # What `verify` says of its progress depends on the clock.
    return f"$ {command}\n{run(command, folder, arguments[:1] != ['verify']).decode()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--without", action="append", default=[])
    options = parser.parse_args()
    stale = 0
    for path in pages():
        before = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            after = rewritten(before, Path(folder), tuple(options.without))
        if after != before:
            stale += 1
            print(f"{path.relative_to(ROOT)}: {'stale' if options.check else 'written'}")
            if not options.check:
                path.write_text(after, encoding="utf-8")
    return int(options.check and stale > 0)


if __name__ == "__main__":
    raise SystemExit(main())
