"""Files of rows: JSON Lines and Parquet, read a little at a time and written whole."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import PurePath
from typing import IO, Any

from kernlint.batch.fields import FIELDS
from kernlint.batch.tasks import COLUMNS
from kernlint.errors import UsageError
from kernlint.files import NotRegular, open_regular
from kernlint.write import replacing

_PARQUET = frozenset({".parquet", ".pq"})
#: A file without a suffix (`/dev/stdout`) holds lines too.
_JSON_LINES = frozenset({".jsonl", ".ndjson", ".json", ""})

#: No row of a sane file comes near this; what is longer is skipped without being held.
_LONGEST_LINE = 64_000_000

#: Rows of a Parquet file that are held at a time, and those of a row group that is written.
_READ_AT_A_TIME = 64
_ROW_GROUP = 10_000


def is_parquet(path: str) -> bool:
    """Whether ``path`` (``-``: a standard stream) is for Parquet by its suffix, rather than for JSON Lines. Raises ``UsageError``
    for a suffix of neither."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in _PARQUET | _JSON_LINES:
        raise UsageError(f"{path}: a batch reads and writes .jsonl and .parquet, not {suffix}")
    return suffix in _PARQUET


def require_parquet() -> None:
    """Raises ``UsageError`` where Parquet cannot be read and written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'kernlint[batch]'") from None


def read_rows(path: str) -> Iterator[Mapping[str, Any]]:
    """The rows of the file at ``path``, by its suffix, or of standard input (``-``) as JSON Lines, as they are read. A row that cannot
    be read is one without a source whose ``unreadable`` says why. Raises ``UsageError`` where the file cannot be read."""
    if path == "-":
        return _json_lines(sys.stdin.buffer)
    if is_parquet(path):
        require_parquet()
        return _parquet(path)
    return _json_lines(_opened(path))


def count_rows(path: str) -> int | None:
    """How many rows the file has, for telling how far one is; None for standard input."""
    if path == "-":
        return None
    if is_parquet(path):
        require_parquet()
        import pyarrow.parquet

        with _opened(path) as file, _arrow_errors(path):
            return int(pyarrow.parquet.ParquetFile(file).metadata.num_rows)
    with _opened(path) as file:
        return sum(1 for line in _lines(file) if line.strip())


def _opened(path: str) -> IO[bytes]:
    try:
        return open(open_regular(path), "rb")
    except NotRegular as error:
        raise UsageError(f"{path}: {error.reason}{error.hint}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _json_lines(file: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    with closing(file):
        for number, line in enumerate(_lines(file), start=1):
            if line.strip():
                yield _parsed(line, number)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of ``file``; of one that is too long a beginning that is just too long."""
    while line := file.readline(_LONGEST_LINE + 1):
        rest = line
        while len(rest) > _LONGEST_LINE and not rest.endswith(b"\n"):
            rest = file.readline(_LONGEST_LINE + 1)
        yield line


def _parsed(line: bytes, number: int) -> Mapping[str, Any]:
    if len(line) > _LONGEST_LINE:
        return {"unreadable": f"line {number} is longer than {_LONGEST_LINE // 1_000_000} MB"}
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {"unreadable": f"line {number} is not JSON: {' '.join(str(error).split())}"}
    return row if isinstance(row, dict) else {"unreadable": f"line {number} is not a JSON object"}


def _parquet(path: str) -> Iterator[Mapping[str, Any]]:
    import pyarrow.parquet

    with _opened(path) as file, _arrow_errors(path):
        table = pyarrow.parquet.ParquetFile(file)
        wanted = [name for name in table.schema_arrow.names if name in COLUMNS]
        for batch in table.iter_batches(batch_size=_READ_AT_A_TIME, columns=wanted):
            yield from batch.to_pylist()


class _arrow_errors:
    """What Arrow says of a file that it cannot read, in one line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow

        if isinstance(error, (pyarrow.ArrowException, OSError)):
            raise UsageError(f"{self._path}: cannot be read as Parquet: {' '.join(str(error).split())}") from None


def write_rows(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Make the file at ``path`` hold ``rows``, Parquet or JSON Lines by its suffix, in one step: it holds what it held before until
    all are written. ``-`` is standard output. Raises ``UsageError`` where it cannot be written."""
    if path == "-":
        for row in rows:
            sys.stdout.write(to_line(row))
        sys.stdout.flush()
        return
    with replacing(path) as temporary:
        if is_parquet(path):
            _write_parquet(temporary, rows)
        else:
            with open(temporary, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(map(to_line, rows))


def to_line(row: Mapping[str, Any]) -> str:
    """``row`` as a line of JSON, in ASCII."""
    return json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n"


def _write_parquet(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    require_parquet()
    import pyarrow
    import pyarrow.parquet

    types = {
        "string": pyarrow.string(), "number": pyarrow.float64(), "integer": pyarrow.int64(), "boolean": pyarrow.bool_(),
    }  # fmt: skip
    schema = pyarrow.schema([pyarrow.field(field.name, types[field.type]) for field in FIELDS])
    left = iter(rows)
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(left, _ROW_GROUP)):
            encodable = [{name: _encodable(value) for name, value in row.items()} for row in group]
            writer.write_table(pyarrow.Table.from_pylist(encodable, schema=schema))


def _encodable(value: Any) -> Any:
    """``value`` without lone surrogates, which JSON can hold and Parquet cannot."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
