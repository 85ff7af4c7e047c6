"""Makes the builders of ``tools/`` importable: the fitting scripts and these tests price the same launches."""

import sys
from pathlib import Path

TOOLS = str(Path(__file__).resolve().parents[2] / "tools")
if TOOLS not in sys.path:
    sys.path.insert(0, TOOLS)
