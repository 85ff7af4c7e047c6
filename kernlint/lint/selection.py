"""Which rules run: codes, prefixes of codes, names, categories and ALL, the more specific one deciding."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import lru_cache

from kernlint.errors import UsageError, suggestion
from kernlint.lint.diagnostics import CATEGORY, DIAGNOSTICS
from kernlint.records import dataclass

ALL = "ALL"


@dataclass(frozen=True)
class Entry:
    """What is selectable: a rule or a diagnostic, without its check."""

    code: str
    name: str
    category: str
    severity: str
    summary: str
    default: bool
    #: Name, default and least value of each option.
    options: tuple[tuple[str, float, float], ...] = ()


#: Importing the rules costs more than a whole run from the cache, which therefore remembers what they are called.
_remembered: list[tuple[Entry, ...]] = []


def remember(catalogue_: Iterable[Entry]) -> None:
    """Take ``catalogue_`` for the rules there are, instead of importing them."""
    _remembered[:] = [tuple(catalogue_)]
    catalogue.cache_clear()
    entries.cache_clear()
    parse_selector.cache_clear()


@lru_cache(maxsize=1)
def catalogue() -> tuple[Entry, ...]:
    """Every rule and diagnostic, by code."""
    if _remembered:
        return _remembered[0]
    from kernlint.rules.registry import all_rules

    rules = [
        Entry(
            r.code,
            r.name,
            r.category,
            r.severity,
            " ".join(r.summary.split()),
            r.default,
            tuple((option.name, option.default, option.least) for option in r.configurable()),
        )
        for r in all_rules()
    ]
    own = [Entry(d.code, d.name, d.category, d.severity, d.summary, True) for d in DIAGNOSTICS]
    return tuple(sorted([*rules, *own], key=lambda entry: entry.code))


@lru_cache(maxsize=1)
def entries() -> dict[str, Entry]:
    """Those of :func:`catalogue` by code."""
    return {entry.code: entry for entry in catalogue()}


@dataclass(frozen=True)
class Selector:
    """A written selector with the ``codes`` it means and how specific it is (a code or name most)."""

    codes: frozenset[str]
    specificity: int


@lru_cache(maxsize=512)
def parse_selector(text: str, what: str = "rule selector") -> Selector:
    """``KL101``, ``KL1``, ``int8-upcast-before-dot``, ``precision`` or ``ALL``, in any case.

    Raises ``UsageError``, with the nearest ones, where nothing is called so.
    """
    wanted = text.strip()
    upper, lower = wanted.upper(), wanted.lower()
    if upper == ALL:
        return Selector(frozenset(entries()), 0)
    for entry in catalogue():
        if entry.code == upper or entry.name == lower:
            return Selector(frozenset({entry.code}), 10)
    if upper.startswith("KL"):
        codes = frozenset(code for code in entries() if code.startswith(upper))
        if codes:
            return Selector(codes, len(upper))
    codes = frozenset(entry.code for entry in catalogue() if entry.category == lower)
    if codes:
        return Selector(codes, 3)
    known = {key.lower(): key for e in catalogue() for key in (e.code, e.name, e.category)} | {"all": ALL}
    # Of a code the first digits say most: they are the category's.
    among = [key for key in known if upper[:3] == known[key][:3]] if upper[:2] == "KL" and len(upper) > 3 else []
    close = [known[match] for match in difflib.get_close_matches(lower, among or list(known), n=3, cutoff=0.6)]
    hint = suggestion(close, "`kernlint rules` lists all")
    raise UsageError(f"unknown {what} {text!r}{hint}")


@dataclass(frozen=True)
class Choice:
    """The selectors of one source of settings: a configuration file or the command line."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def selected_codes(choices: Sequence[Choice]) -> frozenset[str]:
    """The codes that run under ``choices``, later ones over earlier ones.

    A ``select`` starts anew, without what earlier choices selected or ignored. Within a choice the more specific
    selector decides, ``ignore`` where they are equally so. Diagnostics run unless they are ignored.
    """
    codes = frozenset(entry.code for entry in catalogue() if entry.default)
    diagnostics = frozenset(entry.code for entry in catalogue() if entry.category == CATEGORY)
    for choice in choices:
        if choice.select is not None:
            codes = diagnostics
        wanted = _by_code((*(choice.select or ()), *choice.extend_select))
        unwanted = _by_code(choice.ignore)
        added = {code for code, specificity in wanted.items() if specificity > unwanted.get(code, -1)}
        removed = {code for code, specificity in unwanted.items() if specificity >= wanted.get(code, -1)}
        codes = (codes | added) - removed
    return codes


def asked_for(choices: Sequence[Choice]) -> frozenset[str]:
    """The codes that a selector of ``choices`` means, whatever runs of itself."""
    return codes_of(text for choice in choices for text in (*(choice.select or ()), *choice.extend_select))


def codes_of(selectors: Iterable[str]) -> frozenset[str]:
    """All codes that any of ``selectors`` means."""
    return frozenset(code for text in selectors for code in parse_selector(text).codes)


def _by_code(selectors: Iterable[str]) -> dict[str, int]:
    """How specifically each code is meant by ``selectors``."""
    found: dict[str, int] = {}
    for text in selectors:
        selector = parse_selector(text)
        for code in selector.codes:
            found[code] = max(found.get(code, -1), selector.specificity)
    return found
