"""The numbers of the cost model that were measured or fitted, read from the files of ``data/``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data"


def fitted(name: str) -> dict[str, Any]:
    """What ``data/NAME.json`` holds. Raises ``FileNotFoundError``."""
    numbers: dict[str, Any] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return numbers
