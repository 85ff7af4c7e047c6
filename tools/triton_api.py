"""Reads which names, parameters and statements each Triton release has, from the sources of installed or unpacked releases.

    python tools/triton_api.py FOLDER [FOLDER ...]            write kernlint/interpret/data/triton_api.json
    python tools/triton_api.py --check FOLDER [FOLDER ...]    exit with 1 where a release does not agree with the table

Each FOLDER holds the package `triton` of one release: a site-packages folder, or a wheel that was unpacked, not installed.
Nothing of it is imported: names come from its syntax trees. `--check` also holds the hand-written rows of
kernlint/interpret/data/triton_changes.json against these releases.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "kernlint" / "interpret" / "data"
TABLE, CHANGES = DATA / "triton_api.json", DATA / "triton_changes.json"

#: Parameters that the compiler passes itself.
_INTERNAL = frozenset({"_builder", "_generator", "_semantic", "self"})

#: Modules whose names kernels use, by the name they use them under.
_MODULES = {
    "triton": "triton/__init__.py",
    "triton.language": "triton/language/__init__.py",
    "triton.language.core": "triton/language/core.py",
    "triton.language.math": "triton/language/math.py",
    "triton.language.extra": "triton/language/extra/__init__.py",
    "triton.language.extra.libdevice": "triton/language/extra/libdevice.py",
    "triton.language.extra.cuda": "triton/language/extra/cuda/__init__.py",
    "triton.language.extra.cuda.libdevice": "triton/language/extra/cuda/libdevice.py",
    "triton.testing": "triton/testing.py",
}

#: Parts of the front end that accept or refuse a construct, by a text in the code generator that refuses it.
_REFUSALS = {
    "chained boolean": "chained boolean operators",
    "chained comparison": "simultaneous multiple comparison",
}


@dataclass
class Release:
    """One release: dotted names with what is known of each, launch options and supported syntax."""

    version: str
    names: dict[str, Any] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    options: dict[str, list[str]] = field(default_factory=dict)
    syntax: set[str] = field(default_factory=set)
    builtins: set[str] = field(default_factory=set)


def read_release(folder: Path) -> Release:
    """Everything this table knows of the release below ``folder``."""
    root = folder / "triton"
    text = (root / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r"""__version__ = ['"](\d+\.\d+)""", text)
    if not found:
        raise SystemExit(f"{folder}: no version of triton in it")
    release = Release(found[1])
    for path in root.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        if "backends" not in parts and "_C" not in parts:
            release.modules.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    for module, file in _MODULES.items():
        path = folder / file
        if path.exists():
            for name, facts in _exports(folder, path).items():
                release.names[f"{module}.{name}"] = facts
    for name in ("math", "extra", "core", "standard", "semantic", "random"):
        release.names.setdefault(f"triton.language.{name}", {})
    for name, facts in _tensor_members(root / "language").items():
        release.names[f"triton.language.tensor.{name}"] = facts
    for name in ("compiler", "runtime", "language", "testing", "tools", "backends", "knobs", "experimental"):
        if (root / name).is_dir() or (root / f"{name}.py").exists():
            release.names.setdefault(f"triton.{name}", {})
    for vendor, name in (("nvidia", "CUDAOptions"), ("amd", "HIPOptions")):
        tree = _parse(root / "backends" / vendor / "compiler.py")
        release.options[vendor] = sorted(_fields(tree, name))
    source = (root / "compiler" / "code_generator.py").read_text(encoding="utf-8")
    _read_syntax(ast.parse(source), release)
    release.syntax |= {construct for construct, refusal in _REFUSALS.items() if refusal not in source}
    return release


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _exports(folder: Path, path: Path, known: dict[Path, dict[str, Any]] | None = None) -> dict[str, Any]:
    """The public names of a module with their facts; those it imports from inside the package are looked up there."""
    known = {} if known is None else known
    if path in known:  # read already, or being read: modules of the package import each other
        return known[path]
    found = known[path] = {}
    for node in _statements(_parse(path).body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = _facts(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = {}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = {}
        elif isinstance(node, ast.ImportFrom):
            origin = _module_of(folder, path, node)
            theirs = _exports(folder, origin, known) if origin is not None else {}
            for alias in node.names:
                if alias.name == "*":
                    found |= {name: facts for name, facts in theirs.items() if not name.startswith("_")}
                else:
                    found[alias.asname or alias.name] = theirs.get(alias.name, {})
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _statements(node.body)
            yield from _statements(node.orelse)


def _module_of(folder: Path, importer: Path, node: ast.ImportFrom) -> Path | None:
    """The file that a relative import reads names from; None for one that imports modules, or from elsewhere."""
    if not node.level or not node.module:
        return None
    base = importer.parent
    for _ in range(node.level - 1):
        base = base.parent
    target = base.joinpath(*node.module.split("."))
    for candidate in (target.with_suffix(".py"), target / "__init__.py"):
        if candidate.exists() and candidate != importer:
            return candidate
    return None


def _facts(node: ast.FunctionDef | ast.ClassDef) -> dict[str, Any]:
    """Parameters of a function (a class: of its constructor), the element types it takes, whether it only raises."""
    if isinstance(node, ast.ClassDef):
        init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        return {"parameters": _facts(init)["parameters"]} if init is not None else {}
    facts: dict[str, Any] = {}
    given = node.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.arg not in _INTERNAL]
    required = [a.arg for a in (*given.posonlyargs, *given.args)]
    required = [n for n in required[: len(required) - len(given.defaults)] if n not in _INTERNAL]
    facts["parameters"] = [f"{n}!" if n in required else n for n in names]
    if given.vararg:
        facts["parameters"].append("*")
    if given.kwarg:
        facts["parameters"].append("**")
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("_check_dtype"):
            facts["dtypes"] = ast.literal_eval(decorator.keywords[0].value)
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if body and isinstance(body[0], ast.Raise):
        facts["raises"] = True
    symbols = [d for d in ast.walk(node) if isinstance(d, ast.Dict) and d.keys and isinstance(d.keys[0], ast.Tuple)]
    if symbols:
        # libdevice: one row for each tuple of element types it is implemented for.
        rows = [ast.unparse(key) for d in symbols for key in d.keys if key is not None]
        facts["dtypes"] = sorted({t for row in rows for t in re.findall(r"'(\w+)'", row)})
    return facts


def _tensor_members(language: Path) -> dict[str, Any]:
    """Methods and attributes of ``tl.tensor``: those of the class and the functions made its methods by a decorator."""
    found: dict[str, Any] = {}
    for path in sorted(language.glob("*.py")):
        for node in _parse(path).body:
            if isinstance(node, ast.ClassDef) and node.name in ("tensor", "_value", "base_value"):
                for item in node.body:
                    if isinstance(item, ast.FunctionDef):
                        found[item.name] = _facts(item)
                        if item.name == "__init__":
                            found |= {name: {} for name in _own_attributes(item)}
            elif isinstance(node, ast.FunctionDef) and any(
                "_tensor_member_fn" in ast.unparse(d) for d in node.decorator_list
            ):
                found[node.name] = _facts(node)
            elif isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call) and "_add_" in ast.unparse(decorator.func):
                        found.setdefault(node.name, _facts(node))
    return found


def _own_attributes(init: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(init):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _fields(tree: ast.Module, name: str) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            yield from (
                n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
            )


def _read_syntax(tree: ast.Module, release: Release) -> None:
    generator = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "CodeGenerator")
    for node in generator.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("visit_"):
            release.syntax.add(node.name.removeprefix("visit_"))
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == "builtin_namespace" and isinstance(node, ast.AnnAssign):
            comprehension = node.value
            assert isinstance(comprehension, ast.DictComp)
            release.builtins |= {n.id for n in ast.walk(comprehension.generators[0].iter) if isinstance(n, ast.Name)}
    release.builtins |= {"print", "min", "max"}


# -- the table --------------------------------------------------------------------------------------------------------


def table_of(releases: Sequence[Release]) -> dict[str, Any]:
    """Facts by name with the releases they hold in: ``since`` is left out for the first, ``until`` for the last one."""
    versions = [r.version for r in releases]
    names: dict[str, Any] = {}
    for name in sorted({n for r in releases for n in r.names}):
        row: dict[str, Any] = _range([r.version for r in releases if name in r.names], versions)
        parameters = {r.version: r.names[name].get("parameters") for r in releases if name in r.names}
        if any(p is not None for p in parameters.values()):
            row["parameters"] = _ranges(parameters, versions)
        dtypes = {r.version: r.names[name].get("dtypes") for r in releases if r.names.get(name, {}).get("dtypes")}
        if dtypes:
            row["dtypes"] = _ranges(dtypes, versions)
        raising = [r.version for r in releases if r.names.get(name, {}).get("raises")]
        if raising:
            row["raises"] = raising[0]
        names[name] = row
    return {
        "versions": versions,
        "names": names,
        "modules": {
            m: _range([r.version for r in releases if m in r.modules], versions)
            for m in sorted({m for r in releases for m in r.modules})
        },
        "options": {
            vendor: {
                option: _range([r.version for r in releases if option in r.options[vendor]], versions)
                for option in sorted({o for r in releases for o in r.options[vendor]})
            }
            for vendor in ("nvidia", "amd")
        },
        "syntax": {
            s: _range([r.version for r in releases if s in r.syntax], versions)
            for s in sorted({s for r in releases for s in r.syntax})
        },
        "builtins": {
            b: _range([r.version for r in releases if b in r.builtins], versions)
            for b in sorted({b for r in releases for b in r.builtins})
        },
    }


def _range(present: Sequence[str], versions: Sequence[str]) -> dict[str, str]:
    row = {}
    if present[0] != versions[0]:
        row["since"] = present[0]
    if present[-1] != versions[-1]:
        row["until"] = present[-1]
    return row


def _ranges(values: dict[str, Any], versions: Sequence[str]) -> list[list[Any]]:
    """``[first release, value]`` for each run of releases with the same value."""
    runs: list[list[Any]] = []
    for version in versions:
        if version in values and (not runs or runs[-1][1] != values[version]):
            runs.append([version, values[version]])
    return runs


def check_changes(releases: Sequence[Release]) -> list[str]:
    """What the hand-written rows say that a release does not confirm."""
    wrong = []
    for row in json.loads(CHANGES.read_text(encoding="utf-8")):
        name, parameter = row["name"], row.get("parameter")
        for release in releases:
            known = name in release.names or name in release.modules
            facts = release.names.get(name, {})
            if parameter is not None:
                known = parameter in [p.rstrip("!") for p in facts.get("parameters") or ()]
            works = known and not facts.get("raises")
            removed, since = row.get("removed"), row.get("since")
            expected = (since is None or _key(release.version) >= _key(since)) and (
                removed is None or _key(release.version) < _key(removed)
            )
            if works != expected:
                what = name if parameter is None else f"{name}({parameter}=)"
                wrong.append(
                    f"{what}: triton {release.version} {'has' if works else 'lacks'} it, the row says otherwise"
                )
    return wrong


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    releases = sorted((read_release(folder) for folder in options.folders), key=lambda r: _key(r.version))
    wrong = check_changes(releases) if CHANGES.exists() else []
    for line in wrong:
        print(line)
    if options.check:
        known = json.loads(TABLE.read_text(encoding="utf-8"))
        for release in releases:
            for name in sorted(known["names"].keys() | release.names.keys()):
                row = known["names"].get(name)
                expected = row is not None and _holds(row, release.version)
                if expected != (name in release.names):
                    wrong.append(name)
                    print(f"{name}: the table is wrong for triton {release.version}")
        return int(bool(wrong))
    TABLE.write_text(json.dumps(table_of(releases), indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    print(f"{TABLE.name}: {', '.join(r.version for r in releases)}")
    return int(bool(wrong))


def _holds(row: dict[str, str], version: str) -> bool:
    since, until = row.get("since"), row.get("until")
    return (since is None or _key(version) >= _key(since)) and (until is None or _key(version) <= _key(until))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
