"""What a run has worked out so far, on disk: whoever starts it again goes on from there.

One line for each row as it is done, in any order, with a digest of the question that it answers: a row is taken over only where
the same program is asked about in the same way, by the same version.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from kernlint.batch.fields import NAMES
from kernlint.batch.store import to_line
from kernlint.batch.tasks import RowTask
from kernlint.cost.estimate import MODEL_VERSION
from kernlint.crew import NOT_RUN
from kernlint.errors import UsageError
from kernlint.version import __version__

#: How the first line of a journal begins.
_BEGINNING = b'{"number": '


def digest(task: RowTask) -> str:
    """A hash of all that the answer to ``task`` depends on."""
    parts: list[Any] = [__version__, MODEL_VERSION, task.id, task.source, task.reference, task.device, task.scope]
    parts += [list(map(list, task.overrides)), task.timeout_s, task.problem]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


class Journal:
    """The journal at ``path``: by number of a row its question, and where its answer stands."""

    def __init__(self, path: str, afresh: bool = False) -> None:
        """Opens it, with what it holds unless it is to begin ``afresh``. Raises ``UsageError`` where it cannot be written."""
        self.path = path
        self._places: dict[int, tuple[str, int]] = {}
        try:
            if os.path.islink(path):
                raise UsageError(f"{path}: is a link, which is not written through")
            self._file = open(path, "w+b" if afresh or not os.path.exists(path) else "r+b")  # noqa: SIM115 - closed by `close`
            self._end = self._read()
            if not self._end and self._file.seek(0, os.SEEK_END) and not self._looks_ours():
                raise UsageError(f"{path}: holds something else than what a batch has begun; move it out of the way")
            self._file.truncate(self._end)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None

    def __len__(self) -> int:
        return len(self._places)

    def has(self, number: int, question: str) -> bool:
        """Whether the row with this number is done, and was asked the same."""
        return self._places.get(number, ("", 0))[0] == question

    def add(self, number: int, question: str, row: Mapping[str, Any]) -> None:
        """Note the row; it is on disk when this returns."""
        line = to_line({"number": number, "question": question, "row": row}).encode()
        self._file.seek(self._end)
        self._file.write(line)
        self._file.flush()
        self._places[number] = question, self._end
        self._end += len(line)

    def rows(self, count: int) -> Iterator[dict[str, Any]]:
        """The first ``count`` rows in order; all of them must be there."""
        for number in range(count):
            self._file.seek(self._places[number][1])
            yield json.loads(self._file.readline())["row"]

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        """Close it, and leave nothing behind."""
        self.close()
        os.unlink(self.path)

    def _looks_ours(self) -> bool:
        """Whether what is there begins as a first line does that was cut off."""
        self._file.seek(0)
        begun = self._file.read(len(_BEGINNING))
        return _BEGINNING.startswith(begun)

    def _read(self) -> int:
        """Take in what is there; the end of the last whole line of it. What no process was found for is to be tried again."""
        end = 0
        for line in self._file:
            try:
                entry = json.loads(line)
                number, question, row = entry["number"], entry["question"], entry["row"]
                sound = line.endswith(b"\n") and isinstance(number, int) and tuple(row) == NAMES
            except (ValueError, KeyError, TypeError, RecursionError):
                sound = False
            if not sound:
                break  # cut off in the middle, or none of ours
            if row["status"] != NOT_RUN:
                self._places[number] = str(question), end
            end += len(line)
        return end
