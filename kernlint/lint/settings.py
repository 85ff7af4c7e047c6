"""What a run is asked to do: settings of files, from a configuration and the command line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import field
from fnmatch import translate
from functools import cached_property
from typing import Any

from kernlint.lint.patterns import Patterns
from kernlint.lint.selection import Choice, asked_for, codes_of, entries, parse_selector, selected_codes
from kernlint.records import dataclass
from kernlint.request import DEFAULT_DEVICE

DEFAULT_TIMEOUT_S = 60.0

#: What a folder is searched for.
INCLUDE = ("*.py", "*.ipynb", "*.md")

#: Folders that hold other people's code, or none.
EXCLUDE = (
    *".direnv .eggs .git .hg .ipynb_checkpoints .kernlint_cache .mypy_cache .nox .pytest_cache .ruff_cache .svn .tox .venv".split(),
    *"__pycache__ build dist node_modules site-packages venv".split(),
)

OUTPUT_FORMATS = ("text", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson")


@dataclass(frozen=True)
class Settings:
    """The settings of one configuration file (the defaults without one), command line included.

    ``root`` is the folder that patterns are relative to, ``source`` the file they came from. ``choices`` select the
    rules; ``severity`` maps selectors to levels, ``rules`` holds selectors with an option and its value, ``references``
    maps patterns of kernel files to the absolute path of their PyTorch reference, ``reference`` is that of all files; ``scope`` is
    that of verdicts; ``project`` says that calls in other files give facts; ``assumptions`` and ``constants`` are what the command
    line says of programs; ``timeout_s`` is the limit for one file.
    """

    root: str
    source: str | None = None
    choices: tuple[Choice, ...] = ()
    per_file_ignores: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    rules: tuple[tuple[str, str, float], ...] = ()
    references: tuple[tuple[str, str], ...] = ()
    scope: str = "gpu"
    reference: str | None = None
    assumptions: tuple[str, ...] = ()
    constants: tuple[tuple[str, int | float | bool], ...] = ()
    device: str = DEFAULT_DEVICE
    device_named: bool = False
    target_triton: str | None = None
    include: tuple[str, ...] = INCLUDE
    exclude: tuple[tuple[str, tuple[str, ...]], ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    project: bool = False
    timeout_s: float = DEFAULT_TIMEOUT_S
    baseline: str | None = None
    fail_on: str = "warning"
    output_format: str = "text"

    @cached_property
    def codes(self) -> frozenset[str]:
        """What runs on every file that no per-file ignore names."""
        return selected_codes(self.choices)

    @cached_property
    def _chosen_rules(self) -> frozenset[str]:
        return asked_for(self.choices)

    @cached_property
    def _ignores(self) -> list[tuple[Patterns, frozenset[str]]]:
        return [(Patterns(root, [pattern]), codes_of(texts)) for root, pattern, texts in self.per_file_ignores]

    @cached_property
    def _references(self) -> list[tuple[Patterns, str]]:
        return [(Patterns(self.root, [pattern]), path) for pattern, path in self.references]

    @cached_property
    def _levels(self) -> dict[str, str]:
        """The overridden severity by code; the more specific selector decides, then the later one."""
        levels: dict[str, tuple[int, str]] = {}
        for text, level in self.severity:
            selector = parse_selector(text)
            for code in selector.codes:
                if selector.specificity >= levels.get(code, (-1, ""))[0]:
                    levels[code] = (selector.specificity, level)
        return {code: level for code, (_, level) in levels.items()}

    @cached_property
    def _options(self) -> dict[tuple[str, str], float]:
        """The options that are set, by code and name; the more specific selector decides, then the later one."""
        found: dict[tuple[str, str], tuple[int, float]] = {}
        for text, name, value in self.rules:
            selector = parse_selector(text)
            for code in selector.codes:
                known = any(option == name for option, _, _ in entries()[code].options)
                if known and selector.specificity >= found.get((code, name), (-1, 0.0))[0]:
                    found[code, name] = (selector.specificity, value)
        return {key: value for key, (_, value) in found.items()}

    @cached_property
    def _included_paths(self) -> Patterns:
        return Patterns(self.root, [pattern for pattern in self.include if "/" in pattern])

    def includes(self, path: str) -> bool:
        """Whether a search takes the file at the absolute ``path``: by its name, or by its path where a pattern has one."""
        name = os.path.normcase(os.path.basename(path))
        return self._included_names.match(name) is not None or self._included_paths.match(path)

    @cached_property
    def _included_names(self) -> re.Pattern[str]:
        return re.compile("|".join(translate(os.path.normcase(pattern)) for pattern in self.include) or r"(?!)")

    def of_file(self, path: str) -> FileSettings:
        """The settings for the file at the absolute ``path``."""
        codes = self.codes
        for patterns, ignored in self._ignores:
            if patterns.match(path):
                codes -= ignored
        reference = next((target for patterns, target in self._references if patterns.match(path)), None)
        found = self._of_files.get((codes, reference))
        if found is None:
            found = self._of_files[codes, reference] = self._file_settings(codes, reference)
        return found

    @cached_property
    def _of_files(self) -> dict[tuple[frozenset[str], str | None], FileSettings]:
        return {}

    def _file_settings(self, codes: frozenset[str], reference: str | None) -> FileSettings:
        return FileSettings(
            codes,
            self._levels,
            self._options,
            self.device,
            self.device_named,
            self.target_triton,
            self.timeout_s,
            self.reference or reference,
            self._chosen_rules,
            self.assumptions,
            self.constants,
            self.project,
        )

    def _options_of(self, code: str) -> dict[str, float]:
        return {name: value for (other, name), value in sorted(self._options.items()) if other == code}

    def to_json(self) -> dict[str, Any]:
        """What ``--show-settings`` prints."""
        return {
            "configuration": self.source,
            "root": self.root,
            "rules": sorted(self.codes),
            "severity": dict(sorted(self._levels.items())),
            "rule-options": {code: self._options_of(code) for code in sorted({code for code, _ in self._options})},
            "per-file-ignores": {pattern: sorted(codes_of(texts)) for _, pattern, texts in self.per_file_ignores},
            "references": dict(self.references),
            "device": self.device,
            "scope": self.scope,
            "target-triton": self.target_triton,
            "include": list(self.include),
            "exclude": [pattern for _, patterns in self.exclude for pattern in patterns],
            "respect-gitignore": self.respect_gitignore,
            "force-exclude": self.force_exclude,
            "project": self.project,
            "timeout": self.timeout_s,
            "baseline": self.baseline,
            "fail-on": self.fail_on,
            "output-format": self.output_format,
        }


@dataclass(frozen=True)
class FileSettings:
    """What bears on the findings of one file; ``options`` are set options of rules, by code and name; ``reference``
    is the path of its PyTorch reference; ``asked`` are the codes that a selector names; ``assumptions`` and ``constants`` are what
    the user says of arguments and module-level constants, of those that a file has; ``project`` says that calls in other files of
    the project give facts."""

    codes: frozenset[str]
    severity: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[tuple[str, str], float] = field(default_factory=dict)
    device: str = DEFAULT_DEVICE
    device_named: bool = False
    target_triton: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    reference: str | None = None
    asked: frozenset[str] = frozenset()
    assumptions: tuple[str, ...] = ()
    constants: tuple[tuple[str, int | float | bool], ...] = ()
    project: bool = False

    @cached_property
    def key(self) -> str:
        """What the cached findings of the file depend on; the reference counts by its content, not its path."""
        options = sorted([*key, value] for key, value in self.options.items())
        severity = sorted(self.severity.items())
        asked = sorted(self.asked)
        device = [self.device, self.device_named]
        facts = [list(self.assumptions), [list(pair) for pair in self.constants]]
        limits = [self.target_triton, self.timeout_s, self.project]
        return json.dumps([sorted(self.codes), asked, severity, options, *device, *limits, *facts])
