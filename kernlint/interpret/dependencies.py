"""What an answer rests on beside the text that was asked about: other files, as they were then."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernlint.interpret.imports import file_state, imported_file
from kernlint.interpret.vendor import files_around


class Dependencies:
    """The state of other files that answers rest on: those that imports were ``found`` in, by who asked, and those around the
    module at ``beside`` that tell its vendor (none where empty)."""

    def __init__(self, found: Mapping[tuple[str, str, int], Path | None], beside: str) -> None:
        self._found = found
        self._beside = beside
        self._state = self._now()

    def holds(self) -> bool:
        """Whether all of them are as they were."""
        return self._now() == self._state and all(imported_file(*asked) == path for asked, path in self._found.items())

    def _now(self) -> list[tuple[str, int, int] | None]:
        around = files_around(self._beside) if self._beside else ()
        return [file_state(path) for path in (*filter(None, self._found.values()), *around)]
