"""Reads ``[tool.kernlint]`` of pyproject.toml and kernlint.toml: finds the nearest, checks every key."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kernlint.errors import UsageError, suggestion
from kernlint.files import NotRegular, read_regular
from kernlint.lint.model import SEVERITIES
from kernlint.lint.patterns import Patterns
from kernlint.lint.selection import Choice, entries, parse_selector
from kernlint.lint.settings import EXCLUDE, OUTPUT_FORMATS, Settings
from kernlint.records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE = "kernlint.toml"
SHARED_FILE = "pyproject.toml"

#: More than anybody configures.
_MAX_BYTES = 8_000_000

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


@dataclass(frozen=True)
class Overrides:
    """What the command line says over any configuration; None leaves a setting as it is."""

    choice: Choice | None = None
    per_file_ignores: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    device: str | None = None
    target_triton: str | None = None
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool | None = None
    force_exclude: bool | None = None
    timeout_s: float | None = None
    baseline: str | None = None
    fail_on: str | None = None
    output_format: str | None = None
    reference: str | None = None
    assumptions: tuple[str, ...] = ()
    constants: tuple[tuple[str, int | float | bool], ...] = ()
    project: bool | None = None

    def apply(self, settings: Settings) -> Settings:
        """``settings`` with these on top."""
        names = ("device", "target_triton", "respect_gitignore", "force_exclude", "timeout_s", "baseline", "fail_on",
                 "output_format", "project")  # fmt: skip
        changed = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        changed |= {"device_named": True} if self.device is not None else {}
        if self.choice is not None:
            changed["choices"] = (*settings.choices, self.choice)
        return replace(
            settings,
            reference=self.reference,
            assumptions=self.assumptions,
            constants=self.constants,
            per_file_ignores=(*settings.per_file_ignores, *self.per_file_ignores),
            severity=(*settings.severity, *self.severity),
            exclude=(*settings.exclude, (os.getcwd(), self.extend_exclude)),
            **changed,
        )


class Configurations:
    """The settings of each folder: those of the nearest configuration file in it or above, under ``overrides``.

    ``file`` is used for all folders where it is given; ``isolated`` reads no file at all.
    """

    def __init__(self, overrides: Overrides | None = None, file: str | None = None, isolated: bool = False) -> None:
        self._overrides = overrides or Overrides()
        self._known: dict[str, Settings] = {}
        self._fixed: Settings | None = None
        if isolated:
            self._fixed = self._finish(default_settings(os.getcwd()))
        elif file is not None:
            self._fixed = self._finish(read_config(os.path.abspath(file)))

    def of(self, folder: str) -> Settings:
        """The settings for files in the absolute ``folder``. Raises ``UsageError`` for a wrong configuration."""
        if self._fixed is not None:
            return self._fixed
        below: list[str] = []
        # A loop, not recursion: folders can be nested deeper than Python calls.
        while folder not in self._known:
            below.append(folder)
            settings = _configured(folder)
            parent = os.path.dirname(folder)
            if settings is None and parent != folder:
                folder = parent
            else:
                self._known[folder] = self._finish(settings or default_settings(os.getcwd()))
        self._known.update(dict.fromkeys(below, self._known[folder]))
        return self._known[folder]

    def _finish(self, settings: Settings) -> Settings:
        return self._overrides.apply(settings)


def _configured(folder: str) -> Settings | None:
    """The settings that a configuration file in ``folder`` itself holds."""
    for name in (OWN_FILE, SHARED_FILE):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            settings = _read(path)
            if settings is not None:
                return settings
    return None


def default_settings(root: str) -> Settings:
    """The settings without any configuration."""
    return Settings(root, exclude=((root, EXCLUDE),))


def read_config(path: str) -> Settings:
    """The settings in the file at the absolute ``path``. Raises ``UsageError`` where it says nothing of kernlint."""
    settings = _read(path)
    if settings is None:
        raise UsageError(f"{path}: has no [tool.kernlint]")
    return settings


def _read(path: str) -> Settings | None:
    """The settings in ``path``; None for a pyproject.toml of a project that does not configure kernlint."""
    shared = os.path.basename(path) == SHARED_FILE
    try:
        data = read_regular(path, _MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UsageError(f"{path}: larger than {_MAX_BYTES // 1_000_000} MB, no configuration")
        # A broken pyproject.toml of someone else is none of our business.
        if shared and b"kernlint" not in data:
            return None
        table: Any = tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except NotRegular as error:
        raise UsageError(f"{path}: {error.reason}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    if shared:
        tool = table.get("tool")
        table = tool.get("kernlint") if isinstance(tool, dict) else None
        if table is None:
            return None
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [tool.kernlint] is not a table")
    return _Reader(path).settings(table)


class _Reader:
    """Turns the table of one file into settings, or complains with the file's name and the key's."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.root = os.path.dirname(path)
        self.key = ""

    def settings(self, table: Mapping[str, Any]) -> Settings:
        readers: dict[str, Callable[[Any], Any]] = {
            "select": self._selectors,
            "extend-select": self._selectors,
            "ignore": self._selectors,
            "per-file-ignores": self._per_file_ignores,
            "severity": self._severity,
            "rules": self._rules,
            "references": self._references,
            "device": self._device,
            "scope": lambda value: self._one_of(value, ("gpu", "call")),
            "target-triton": self._version,
            "include": self._patterns,
            "exclude": self._patterns,
            "extend-exclude": self._patterns,
            "respect-gitignore": self._flag,
            "force-exclude": self._flag,
            "project": self._flag,
            "timeout": self._seconds,
            "baseline": self._path_below,
            "fail-on": lambda value: self._one_of(value, SEVERITIES),
            "output-format": lambda value: self._one_of(value, OUTPUT_FORMATS),
        }
        read: dict[str, Any] = {}
        for key, value in table.items():
            self.key = key
            if key not in readers:
                hint = "; this file needs no [tool.kernlint]" if key == "tool" else nearest(key, readers)
                raise UsageError(f"{self.path}: unknown key {key!r}{hint}")
            read[key] = readers[key](value)
        excluded = (*read.pop("exclude", EXCLUDE), *read.pop("extend-exclude", ()))
        choice = Choice(read.pop("select", None), read.pop("extend-select", ()), read.pop("ignore", ()))
        names = {"timeout": "timeout_s"}
        changed = {names.get(key, key.replace("-", "_")): value for key, value in read.items()}
        changed |= {"device_named": True} if "device" in changed else {}
        return Settings(self.root, self.path, choices=(choice,), exclude=((self.root, excluded),), **changed)

    # -- values -----------------------------------------------------------------------------------------------------

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.path}: {self.key}: {what}")

    def _texts(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong("expected a list of strings")
        return tuple(value)

    def _table(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong("expected a table")
        return value

    def _selectors(self, value: Any) -> tuple[str, ...]:
        texts = self._texts(value)
        for text in texts:
            self._selector(text)
        return texts

    def _selector(self, text: str) -> None:
        try:
            parse_selector(text)
        except UsageError as error:
            raise self._wrong(str(error)) from None

    def _patterns(self, value: Any) -> tuple[str, ...]:
        texts = self._texts(value)
        self._pattern(*texts)
        return texts

    def _pattern(self, *texts: str) -> None:
        try:
            Patterns(self.root, texts)
        except UsageError as error:
            raise self._wrong(str(error)) from None

    def _per_file_ignores(self, value: Any) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        table = self._table(value)
        self._pattern(*table)
        return tuple((self.root, pattern, self._selectors(texts)) for pattern, texts in table.items())

    def _severity(self, value: Any) -> tuple[tuple[str, str], ...]:
        found = []
        for text, level in self._table(value).items():
            self._selector(text)
            found.append((text, self._one_of(level, SEVERITIES)))
        return tuple(found)

    def _rules(self, value: Any) -> tuple[tuple[str, str, float], ...]:
        found = []
        for text, options in self._table(value).items():
            self._selector(text)
            known = {name: least for code in parse_selector(text).codes for name, _, least in entries()[code].options}
            for name, number in self._table(options).items():
                if name not in known:
                    raise self._wrong(f"{text} has no option {name!r}{nearest(name, known)}")
                if isinstance(number, bool) or not isinstance(number, (int, float)) or not known[name] <= number < 1e9:
                    raise self._wrong(f"{text}: {name}: expected a number, at least {known[name]:g}")
                found.append((text, name, number))
        return tuple(found)

    def _references(self, value: Any) -> tuple[tuple[str, str], ...]:
        table = self._table(value)
        self._pattern(*table)
        if not all(isinstance(path, str) for path in table.values()):
            raise self._wrong("expected strings: kernel file = reference file")
        missing = [path for path in table.values() if not os.path.isfile(os.path.join(self.root, path))]
        if missing:
            raise self._wrong(f"no such file: {missing[0]}")
        return tuple((pattern, os.path.join(self.root, path)) for pattern, path in table.items())

    def _device(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self._wrong("expected a string")
        try:
            return device_id(value)
        except UsageError as error:
            raise self._wrong(str(error)) from None

    def _version(self, value: Any) -> str:
        if not isinstance(value, str) or not _VERSION.fullmatch(value):
            raise self._wrong('expected a version such as "3.6"')
        return value

    def _flag(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._wrong("expected true or false")
        return value

    def _seconds(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not is_timeout(value):
            raise self._wrong("expected a positive number of seconds, below a million")
        return float(value)

    def _path_below(self, value: Any) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            raise self._wrong("expected a path")
        return os.path.join(self.root, value)

    def _one_of(self, value: Any, known: tuple[str, ...]) -> str:
        if value not in known:
            near = nearest(value, known) if isinstance(value, str) else ""
            raise self._wrong(f"{value!r} is none of {', '.join(known)}{near}")
        assert isinstance(value, str)
        return value


def is_timeout(seconds: float) -> bool:
    """Whether a file can be given so many seconds; not infinitely many, and what is no number is none."""
    return 0 < seconds < 1e6


def device_id(name: str) -> str:
    """The id of the device called ``name``. Raises ``UsageError`` where there is none."""
    from kernlint.cost.device import find_device

    return find_device(name).id


def nearest(word: str, known: Any) -> str:
    """``; did you mean X?`` where one of ``known`` is near ``word``, else nothing."""
    close = difflib.get_close_matches(word.lower().replace("_", "-"), list(known), n=1, cutoff=0.6)
    return suggestion(close)
