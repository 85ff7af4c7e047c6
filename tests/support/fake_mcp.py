"""``kernlint mcp`` with an analysis that does what the source says: ``crash``, ``hang``, or whether a file can be seen.

It is run as a program, to test what becomes of the server whatever becomes of the analysis.
"""

import os
import signal
import time

from kernlint.errors import AnalysisError
from kernlint.request import Request
from kernlint.server import mcp, tools
from kernlint.server.tools import Answer


def analyze(task: Request) -> Answer:
    if "# crash" in task.source:
        signal.raise_signal(signal.SIGSEGV)
    if "# hang" in task.source:
        time.sleep(600)
    if "# print" in task.source:
        os.write(1, b"nonsense\n")
    raise AnalysisError(f"files here: {sorted(os.listdir())}")


if __name__ == "__main__":
    tools.analyze = analyze
    mcp.TIMEOUT_S = 2.0
    mcp.run()
