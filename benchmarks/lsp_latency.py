"""How long an edit takes until its diagnostics are there, as an editor sees it: `kernlint server` over real pipes.

    python benchmarks/lsp_latency.py kernel.py ... [--edits 20]

Cold is the first answer of a fresh server, starting its worker included. Then the file changes again and again, half a second after
all is found: a comment at its end (`comment`), and what its last `tl.store` writes, which is multiplied by another factor each time, so
that the program computes something else (`kernel`). The median and the worst are printed of the time until the first answer, and until
all is found (`whole`), and the processor time of an edit, of the server and its workers together (Linux). Beside them the lens (times
of the kernels) and the fixes, which are asked for less often. A `reference.py` in the folder of a file is taken as its reference. Needs
`pip install 'kernlint[lsp]'`.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

EDIT = ("worst", "whole", "worst", "cpu")
COLUMNS = ("cold", "comment", *EDIT, "kernel", *EDIT, "lens", "fixes")

#: From all that is found to the next edit.
PAUSE_S = 0.5

#: Behind all that a file holds.
END = types.Position(10**6, 0)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--edits", type=int, default=20)
    given = parser.parse_args()
    print(f"{'file':<40} {'lines':>5} " + " ".join(f"{column:>7}" for column in COLUMNS) + "  ms")
    for path in given.files:
        with tempfile.TemporaryDirectory() as folder:
            numbers = await measured(copied(path, Path(folder)), given.edits)
        name = "/".join(path.resolve().parts[-2:])
        lines = path.read_text().count("\n")
        print(f"{name[-40:]:<40} {lines:>5} " + " ".join(f"{1000 * s:>7.0f}" for s in numbers), flush=True)


def copied(path: Path, folder: Path) -> Path:
    """A copy of the program in ``folder``, with its reference and a configuration that names it."""
    reference = path.with_name("reference.py")
    named = {}
    if reference.exists() and reference.name != path.name:
        shutil.copy(reference, folder)
        named = {path.name: reference.name}
    references = ", ".join(f"{json.dumps(program)} = {json.dumps(other)}" for program, other in named.items())
    (folder / "kernlint.toml").write_text(f"references = {{ {references} }}\n")
    return Path(shutil.copy(path, folder))


async def measured(path: Path, edits: int) -> list[float]:
    """Seconds, one for each of ``COLUMNS``."""
    client = LanguageClient("lsp-latency", "1")
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda *_: None)
    await client.start_io(sys.executable, "-m", "kernlint", "server")
    client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)(lambda *_: None)
    pulls = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    again = types.WorkspaceClientCapabilities(diagnostics=types.DiagnosticWorkspaceClientCapabilities(True))
    able = types.ClientCapabilities(text_document=pulls, workspace=again)
    await client.initialize_async(types.InitializeParams(capabilities=able, process_id=None))
    client.initialized(types.InitializedParams())
    uri, text = path.as_uri(), path.read_text()
    language = "markdown" if path.suffix == ".md" else "python"
    here = types.TextDocumentIdentifier(uri)
    version = 0

    async def timed(request: Any) -> float:
        begun = time.perf_counter()
        await request
        return time.perf_counter() - begun

    def pull() -> Any:
        return client.text_document_diagnostic_async(types.DocumentDiagnosticParams(here))

    def change(to: str) -> None:
        nonlocal version
        version += 1
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, uri), [types.TextDocumentContentChangeWholeDocument(to)]
            )
        )

    def actions(where: types.Range) -> Any:
        """What may be done there, which is offered once all is found."""
        context = types.CodeActionContext([], [types.CodeActionKind.QuickFix])
        return client.text_document_code_action_async(types.CodeActionParams(here, where, context))

    async def edited(edit: Callable[[str, int], str]) -> list[float]:
        """Median and worst until the first answer and until all is found, and processor time of one edit."""
        before_s, first, whole = processor_s(client), [], []
        for number in range(1, edits + 1):
            await asyncio.sleep(PAUSE_S)
            change(edit(text, number))
            first.append(await timed(pull()))
            whole.append(first[-1] + await timed(actions(types.Range(END, END))))
        times = [found for taken in (first, whole) for found in (statistics.median(taken), max(taken))]
        return [*times, (processor_s(client) - before_s) / edits]

    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, 0, text)))
    cold = await timed(pull())
    numbers = [cold, *await edited(with_comment), *await edited(with_factor)]
    lens = types.CodeLensParams(here)
    await client.text_document_code_lens_async(lens)  # starts the second worker
    fixes = await timed(actions(types.Range(types.Position(0, 0), END)))
    change(text)
    lenses = await timed(client.text_document_code_lens_async(lens))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return [*numbers, lenses, fixes]


def with_comment(text: str, number: int) -> str:
    return f"{text}\n# {number}\n"


def with_factor(text: str, number: int) -> str:
    """``text``, in which the last `tl.store` writes other values. Raises ``ValueError`` where there is none."""
    fences = [
        (found.start(1), found[1]) for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    ]
    for offset, source in reversed(fences or [(0, text)]):
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1]
        stores = [call.args[1] for call in calls if ast.unparse(call.func) == "tl.store"]
        if stores:
            value = ast.get_source_segment(source, stores[-1]) or ""
            above = source.splitlines(keepends=True)[: stores[-1].lineno - 1]
            start = offset + sum(map(len, above)) + stores[-1].col_offset
            return f"{text[:start]}({value}) * {1 + number / 1000}{text[start + len(value) :]}"
    raise ValueError("no tl.store(place, value) to edit")


def processor_s(client: LanguageClient) -> float:
    """The processor time that the server and all processes below it have had; 0 where the system does not tell."""
    assert client._server is not None
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, _, rest = stat.read_text().partition(" (")
        except OSError:  # it has just ended
            continue
        fields = rest.rpartition(")")[2].split()
        parents[int(number)] = int(fields[1])
        used[int(number)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    below, total = [client._server.pid], 0.0
    while below:
        parent = below.pop()
        total += used.get(parent, 0.0)
        below += [child for child, of in parents.items() if of == parent]
    return total


if __name__ == "__main__":
    asyncio.run(main())
