"""How long an edit takes until its diagnostics are there, as an editor sees it: `kernlint server` over real pipes.

    python benchmarks/lsp_latency.py kernel.py ... [--edits 20]

Cold is the first answer of a fresh server, starting its worker included. Then a number in the text of the file changes again and
again (a comment at its end, so that every file can be measured the same way), and the median and the worst are printed; beside them the
lens (times of the kernels) and the fixes, which are asked for less often. `cpu` is the processor time of an edit, of the server and its
workers together (Linux): what a machine that does nothing else takes. Needs `pip install 'kernlint[lsp]'`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--edits", type=int, default=20)
    given = parser.parse_args()
    print(f"{'file':<40} {'lines':>5} {'cold':>7} {'edit':>7} {'worst':>7} {'cpu':>7} {'lens':>7} {'fixes':>7}  ms")
    for path in given.files:
        numbers = await measured(path.resolve(), given.edits)
        name = "/".join(path.resolve().parts[-2:])
        lines = path.read_text().count("\n")
        print(f"{name[-40:]:<40} {lines:>5} " + " ".join(f"{1000 * s:>7.0f}" for s in numbers))


async def measured(path: Path, edits: int) -> tuple[float, ...]:
    """Seconds: cold, the median and the worst of the edits, their processor time, the lens and the fixes."""
    client = LanguageClient("lsp-latency", "1")
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda *_: None)
    await client.start_io(sys.executable, "-m", "kernlint", "server")
    pulls = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    await client.initialize_async(
        types.InitializeParams(capabilities=types.ClientCapabilities(text_document=pulls), process_id=None)
    )
    client.initialized(types.InitializedParams())
    uri, text = path.as_uri(), path.read_text()
    language = "markdown" if path.suffix == ".md" else "python"
    here = types.TextDocumentIdentifier(uri)

    async def timed(request: Any) -> float:
        begun = time.perf_counter()
        await request
        return time.perf_counter() - begun

    def pull() -> Any:
        return client.text_document_diagnostic_async(types.DocumentDiagnosticParams(here))

    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, 0, text)))
    cold = await timed(pull())
    taken = []
    before_s = processor_s(client)
    for number in range(1, edits + 1):
        change = types.TextDocumentContentChangeWholeDocument(f"{text}\n# {number}\n")
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(number, uri), [change])
        )
        taken.append(await timed(pull()))
    used_s = (processor_s(client) - before_s) / edits
    lens = types.CodeLensParams(here)
    await client.text_document_code_lens_async(lens)  # starts the second worker
    everything = types.Range(types.Position(0, 0), types.Position(10**6, 0))
    context = types.CodeActionContext([], [types.CodeActionKind.QuickFix])
    fixes = await timed(client.text_document_code_action_async(types.CodeActionParams(here, everything, context)))
    change = types.TextDocumentContentChangeWholeDocument(text)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(edits + 1, uri), [change])
    )
    lenses = await timed(client.text_document_code_lens_async(lens))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return cold, statistics.median(taken), max(taken), used_s, lenses, fixes


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
