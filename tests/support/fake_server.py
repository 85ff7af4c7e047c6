"""``kernlint server`` with an analysis that does what the text says: ``crash``, ``hang``, ``memory``, or nothing.

It is run as a program, to test what becomes of the server whatever becomes of the analysis.
"""

import os
import signal
import sys
import time
from typing import Any

from kernlint import sandbox
from kernlint.lint.model import Finding, Place
from kernlint.server import document, lsp
from kernlint.server.editing import Found


def findings(text: str, **_: Any) -> Found:
    if "# crash" in text:
        signal.raise_signal(signal.SIGSEGV)
    if "# exit" in text:
        os._exit(7)
    if "# hang" in text:
        time.sleep(600)
    if "# spin" in text:
        while True:
            pass
    if "# memory" in text:
        bytearray(sandbox.MEMORY_BYTES)
    if "# bug" in text:
        raise ValueError("two\nlines")
    if "# print" in text:
        print("Content-Length: 3")
        os.write(1, b"nonsense")
        sys.stdin.read()
    return Found((Finding("KL101", "fake", "warning", "precision", "found", "x", Place(1, 1, 1, 2), fingerprint="f"),))


if __name__ == "__main__":
    document.findings = document.findings_at_once = findings
    document.TIMEOUT_S = float(os.environ.get("FAKE_TIMEOUT_S", "60"))
    lsp.run(os.getcwd())
