"""Remembers the findings of files between runs, by what they depend on: content, settings, and kernlint itself."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from kernlint.files import read_regular
from kernlint.lint.job import Result
from kernlint.lint.known_files import KnownFiles, content_of
from kernlint.lint.model import Finding
from kernlint.lint.selection import Entry
from kernlint.lint.settings import FileSettings
from kernlint.version import __version__

FOLDER = ".kernlint_cache"

_FILES = "files.json"

#: A folder that :func:`tool_stamp` has named, or one that an earlier version has.
_STAMP = re.compile(r"\d+\.\d+[\w.+]*-[0-9a-f]{16}")

_MAX_BYTES = 64_000_000
_KEEP_S = 30 * 24 * 3600.0
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of kernlint, safe to delete.\n"


class Cache:
    """A folder of small JSON files, one a checked file, below a folder for each version and rule set.

    Every file is written under another name and then renamed, so that concurrent runs can share it: the worst that
    happens is that two do the same work. A cache that cannot be written is no cache, never an error.
    """

    def __init__(self, folder: str) -> None:
        self._top = folder
        self._folder = os.path.join(folder, tool_stamp())
        self._ready = False

    @cached_property
    def files(self) -> KnownFiles:
        """What is known of files from runs before."""
        return KnownFiles(self._read(os.path.join(self._folder, _FILES)) or ())

    def keep_files(self) -> None:
        """Note for runs to come what this one has learnt of files."""
        if self.files.changed:
            self._write(os.path.join(self._folder, _FILES), self.files.to_records())

    def get(self, key: str) -> Result | None:
        """What a run before found for the :func:`job_key`, unless a module that the file takes helpers from has changed since."""
        record = self._read(self._path(key))
        try:
            if record is None:
                return None
            found, read, undecided = record
            helpers = tuple((path, digest) for path, digest in read)
            findings = tuple(Finding.from_record(item) for item in found)
            result = Result(findings, helpers=helpers, undecided=tuple(undecided))
        except (KeyError, TypeError, ValueError):  # not written by us
            return None
        return result if all(self.files.digest_of(path) == digest for path, digest in helpers) else None

    def put(self, key: str, result: Result) -> None:
        """Remember ``result``, unless another run might end otherwise."""
        if result.repeatable:
            found = [finding.to_record() for finding in result.findings]
            self._write(self._path(key), [found, result.helpers, result.undecided])

    def catalogue(self) -> list[Entry] | None:
        """What the rules are called, where a run before has noted it."""
        record = self._read(os.path.join(self._folder, "rules.json"))
        try:
            return None if record is None else [_entry(item) for item in record]
        except (KeyError, TypeError):
            return None

    def put_catalogue(self, entries: Iterable[Entry]) -> None:
        self._write(os.path.join(self._folder, "rules.json"), [asdict(entry) for entry in entries])

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, key[:2], f"{key[2:]}.json")

    def _read(self, path: str) -> list[Any] | None:
        try:
            record = json.loads(read_regular(path, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return None
        return record if isinstance(record, list) else None

    def _write(self, path: str, record: list[Any]) -> None:
        import tempfile  # takes longer than to read all that a warm run needs

        try:
            self._prepare()
            folder = os.path.dirname(path)
            os.makedirs(folder, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    json.dump(record, file)
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            return

    def _prepare(self) -> None:
        """Make the folder, hide it from git and from backups, and drop what old versions have left there."""
        if self._ready:
            return
        self._ready = True
        is_new = not os.path.isdir(self._folder)
        os.makedirs(self._folder, exist_ok=True)
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
            path = os.path.join(self._top, name)
            if not os.path.exists(path):
                with open(path, "x", encoding="ascii") as file:  # not through a link to somewhere else
                    file.write(text)
        if is_new:
            import shutil

            with os.scandir(self._top) as entries:
                old = [e.path for e in entries if e.is_dir(follow_symlinks=False) and _STAMP.fullmatch(e.name)
                       and e.stat().st_mtime < time.time() - _KEEP_S]  # fmt: skip
            for path in old:
                shutil.rmtree(path, ignore_errors=True)


def _entry(item: dict[str, Any]) -> Entry:
    return Entry(**{**item, "options": tuple(tuple(option) for option in item["options"])})


def job_key(shown: str, digest: str, reference: tuple[str, bytes] | None, fixes: bool, settings: FileSettings) -> str:
    """A hash of all that the findings of a file depend on, kernlint itself excepted: those of a
    :class:`~kernlint.lint.job.Job` for a file of that ``digest``."""
    other = None if reference is None else [reference[0], content_of(reference[1]).digest]
    key = json.dumps([shown, digest, other, fixes])
    return hashlib.blake2b(f"{key}\0{settings.key}".encode(), digest_size=20).hexdigest()


def tool_stamp() -> str:
    """A hash of the version, Python's own, and the files that kernlint consists of, by their names, sizes and times.

    In a checkout rules change without the version changing.
    """
    digest = hashlib.blake2b(f"{__version__} {sys.version_info[:2]}".encode(), digest_size=8)
    for folder in _own_folders():
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".json"):
                stat = path.stat()
                digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return f"{__version__}-{digest.hexdigest()}"


def _own_folders() -> list[Path]:
    import kernlint
    import kernlint.rules

    folders = {Path(path) for package in (kernlint, kernlint.rules) for path in package.__path__}
    return sorted(folder for folder in folders if not any(other in folder.parents for other in folders))
