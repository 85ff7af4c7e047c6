"""Which release of Triton a project asks for: what the newest one refuses or no longer has may be there in that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from kernlint.interpret.api import Target, parse_version, supported
from kernlint.interpret.imports import file_state
from kernlint.records import replace

#: Files that name what a project needs, those that name it most exactly first; of an installed package that is its metadata.
_NAMED = (
    "*.lock", "pyproject.toml", "setup.py", "setup.cfg", "*requirements*.txt", "requirements/*.txt", "*.dist-info/METADATA",
    "environment*.y*ml", "env*/*.y*ml", "conda*/*.y*ml", "Dockerfile*", "*/Dockerfile*", "README*", ".gitmodules",
)  # fmt: skip
#: Those of prose and commands.
_PROSE = re.compile(r"README.*|.*\.ya?ml|Dockerfile.*")
#: What stands in the topmost folder of a project.
_TOP = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_HIGHEST, _LONGEST, _MOST = 8, 4_000_000, 16

#: Releases of torch and the Triton that each is built with; the last stands for all that are newer. With torch 1 came none: that of its
#: time is meant.
_BUILT_WITH = {
    **{(1, minor): (1, 0) for minor in range(14)},
    **{(2, minor): (2, minor) for minor in range(4)},
    **{(2, minor): (3, minor - 4) for minor in range(4, 11)},
    (2, 11): (3, 6),
    (2, 12): (3, 7),
}

#: A requirement (``triton==2.1``, ``torch>=2,<2.4``), how Poetry writes one (``triton = "^2.1"``), and files of what is locked.
_REQUIRED = re.compile(
    r"""(?:^(?:Requires-Dist:)?|["'])\s*(triton|torch)\s*\(?((?:[<>=!~]=?=?\s*[\d.*]+[\w.]*\s*,?\s*)+)""", re.I
)
_LOCKED = re.compile(r"""^name = "(triton|torch)"\nversion = "([\d.]+)""", re.M)
_POETRY = re.compile(r"""^\s*(triton|torch)\s*=\s*["'](\^?)\s*(\d[\d.*]*)""", re.I)
#: A requirement on another vendor's fork of Triton (``triton-ascend==3.2``).
_FORK = re.compile(
    r"""^[\s"'\[(]*(?:Requires-Dist:\s*)?((?:pytorch[-_])?triton[-_](?:ascend|gcu|metax|mlu|musa|npu|xpu))\b(?![-_.])""",
    re.I,
)
#: What prose, images and commands of installation name (``pip install torch==2.0.1``, "tested with Triton 2.1.0"), which is no
#: measurement ("Triton 2.1 ms", "torch 3.5x") and no bound ("torch 2.1+").
_TOLD = re.compile(
    r"\b(triton|(?:py)?torch)\s*(?:={1,3}\s*| v?|(?<=pytorch/pytorch):)([1-3]\.1?\d)(?:\.\d+)*(?:\.dev\d+|rc\d+|\.\*)?(?:\+\w+)?"
    r"(?![\w%]|\.\w|\s*(?:\+|or\b|and\b|[a-z]{0,2}s\b|[TG](?:i?B|FLOP|OP)))",
    re.I,
)
#: The comments and the docstring above the code of a module, and what stands there before a release that it was tested with.
_HEAD = re.compile(r'''(?:\s*#.*)*(?:\s*[rR]?("""|\'{3})[\s\S]*?\1)?(?:\s*#.*)*''')
_TESTED = re.compile(r"(?<!not )\b(?:tested|developed) (?:with|on|against|under):? +", re.I)
#: A Triton that a repository has as a submodule, to build and change it.
_BUILT = re.compile(r"""url\s*=\s*(\S*[/:][\w.-]+/triton)(?:\.git)?/?$""")
_CLAUSE = re.compile(r"(===?|~=|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?")


def pinned(path: str, text: str, target: Target) -> Target:
    """``target`` of the newest release that the project of the module at ``path`` allows, by the strictest of its files of a kind, or that
    the ``text`` of the module says it was tested with. ``asked`` says so where that is older than all that are known, or what the
    repository builds itself."""
    built = (url for file in requirement_files(path) for url in _requirements(file).get("built", ()))
    if url := next(built, ""):
        return replace(target, asked=url)
    release, asked = _wanted(path, text) or (target.version, "")
    oldest = parse_version(supported()[0])
    if release < oldest:
        return replace(target, version=oldest, asked=asked)
    return target if release == target.version else replace(target, version=release, named=True)


def _wanted(path: str, text: str) -> tuple[tuple[int, int], str] | None:
    """The release that the module at ``path`` is for, with what says so: what the head of its ``text`` says counts where no file asks for
    one, and none for a torch that is built with newer ones."""
    bounds: list[str] = []
    for files in _groups(path):
        asked = [_requirements(file) for file in files]
        if releases := [release for one in asked for release in _releases(one)]:
            return min(releases)
        bounds += [bound for one in asked for bound in one.get("torch", ())]
    built = {triton for torch, triton in _BUILT_WITH.items() if all(_allows(bound, torch) for bound in bounds)}
    tested = [f"=={one}" for one in _told_by_head(text) if parse_version(one) in built or not bounds]
    return next(_releases({"triton": tested}), None) if tested else None


def _told_by_head(text: str) -> list[str]:
    """The releases of Triton that the docstring and the comments above the code of a module say it was tested with."""
    head = _HEAD.match(text)
    told = (_TOLD.match(head[0], one.end()) for one in _TESTED.finditer(head[0])) if head is not None else ()
    return [one[2] for one in told if one is not None and one[1].lower() == "triton"]


def _releases(asked: Mapping[str, Sequence[str]]) -> Iterator[tuple[tuple[int, int], str]]:
    """The newest release of Triton that the requirements on each package allow, with the first of them."""
    known = {release: release for release in map(parse_version, supported())}
    for package in asked.keys() & {"triton", "torch"}:
        texts = asked[package]
        releases = _BUILT_WITH if package == "torch" else known
        newest = max((one for one in releases if any(_allows(text, one) for text in texts)), default=(0, 0))
        if package == "triton" or newest not in ((0, 0), max(releases)):  # another torch says nothing
            yield releases.get(newest, newest), f"{package}{texts[0]}"


def fork_asked_for(path: str) -> str:
    """The fork of Triton that the project of the module at ``path`` needs in the place of Triton itself; empty where there is none."""
    asked = next(filter(None, map(_requirements, requirement_files(path))), {})
    forks = asked.get("fork", ())
    return forks[0] if forks and "triton" not in asked else ""


def requirement_files(path: str) -> Iterator[Path]:
    """The files that name what the project of the module at ``path`` needs, the nearest first."""
    return (file for files in _groups(path) for file in files)


def _groups(path: str) -> Iterator[tuple[Path, ...]]:
    """As :func:`requirement_files`, those of a kind in one folder together."""
    if not os.path.isfile(path):
        return
    folders = Path(os.path.realpath(path)).parents[:_HIGHEST]
    tops = [place for place, one in enumerate(folders) if any((one / name).exists() for name in _TOP)]
    # A project that a repository keeps in a folder of its own is installed with what the repository asks for.
    cloned = [place for place in tops if (folders[place] / ".git").exists()]
    for here in folders[: (cloned or tops or [_HIGHEST])[0] + 1]:
        yield from _files_in(here, here.stat().st_mtime_ns)


@lru_cache(maxsize=1024)
def _files_in(folder: Path, mtime_ns: int) -> tuple[tuple[Path, ...], ...]:
    """Those of one folder, as it was at a time, each kind together; what stands beside a project is not one of its folders."""
    top = any((folder / name).exists() for name in _TOP)
    return tuple(tuple(sorted(folder.glob(named))[:_MOST]) for named in _NAMED if top or not named.startswith("*/"))


def _requirements(file: Path) -> Mapping[str, Sequence[str]]:
    state = file_state(file)
    try:
        return {} if state is None or state[2] > _LONGEST else _requirements_at(*state)
    except OSError:
        return {}


@lru_cache(maxsize=256)
def _requirements_at(path: str, mtime_ns: int, size: int) -> Mapping[str, Sequence[str]]:
    """The requirements on Triton, on torch and on a ``fork`` of Triton in a file, one a line, and the Triton that is ``built`` beside
    it; time and size tell apart what is not the same file any more."""
    found: dict[str, list[str]] = {}
    text = Path(path).read_text("utf-8", "replace")
    told = _LOCKED if path.endswith(".lock") else _TOLD if _PROSE.fullmatch(os.path.basename(path)) else None
    if told is not None:
        for name, release in told.findall(text):
            found.setdefault(name.lower().removeprefix("py"), []).append(f"=={release}")
        return found
    for line in (line.strip() for line in text.splitlines()):
        if required := _REQUIRED.findall("" if line.startswith("#") else line):
            for name, clauses in required:
                found.setdefault(name.lower(), []).append("".join(clauses.split()).strip(","))
        elif poetry := _POETRY.match(line):
            text = ("~=" if poetry[2] else "==") + (f"{poetry[3]}.0"[:3] if poetry[2] else poetry[3])
            found.setdefault(poetry[1].lower(), []).append(text)
        elif fork := _FORK.match(line):
            found.setdefault("fork", []).append(fork[1])
        elif built := _BUILT.match(line):
            found.setdefault("built", []).append(built[1])
    return found


def _allows(requirement: str, release: tuple[int, int]) -> bool:
    """Whether ``release`` fulfils all clauses; what a clause says of a patch does not count."""
    for operator, number, any_patch in _CLAUSE.findall(requirement):
        parts = tuple(map(int, number.split(".")))
        asked = (*parts, 0)[:2]
        same = release[: len(parts)] == parts[:2] if any_patch or len(parts) == 1 else release == asked
        holds = {
            "==": same,
            "===": same,
            "!=": True,
            "~=": release >= asked and (release[0] == asked[0] if len(parts) == 2 else release == asked),
            "<": release < asked,
            "<=": release <= asked,
            ">": release > asked or len(parts) > 2,
            ">=": release >= asked,
        }[operator]
        if not holds:
            return False
    return True
