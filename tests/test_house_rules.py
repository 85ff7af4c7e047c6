"""Rules of the house that no other test would notice being broken."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernlint.links import REPOSITORY

ROOT = Path(__file__).parents[1]

#: The order of the stages: a stage imports only from those before it.
STAGES = (
    "errors",
    "version",
    "workload",
    "syntax",
    "interpret",
    "cost",
    "headroom",
    "proofs",
    "rewrite",
    "generate",
    "operators",
    "rules",
    "verdict",
    "verify",
)

#: The same inside `kernlint.interpret`, whose other modules come before or after these and are not held to an order yet.
INTERPRETERS = ("python", "triton", "frontend", "torch", "host", "reading", "program", "project", "recorded")

#: Codemods that make what one rule describes: what they do is not an operator yet. No name is added here.
BOUND_TO_A_RULE = frozenset(
    {
        "autotuned",
        "compile_time_values",
        "conditions",
        "element_types",
        "grids",
        "host_functions",
        "host_tensors",
        "initialised",
        "masked_values",
        "masks",
        "mended_faults",
        "module_level_jit",
        "more_configurations",
        "pipelined_loop",
        "precise_sums",
        "triton_names",
        "tuners",
        "wide_indices",
    }
)


#: Lines of a file of the product at most, and of the longer ones that there are: their numbers only go down, and no name is added.
LONGEST = 500
LONGER = {
    "kernlint/verify/child/fakes.py": 526,
}


def _sources(folder: str) -> Iterator[Path]:
    yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if "__pycache__" not in path.parts)


@cache
def _imports(path: Path) -> set[str]:
    """Modules of kernlint that ``path`` imports at run time (not under TYPE_CHECKING)."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kernlint"):
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("kernlint"))
    return found


@pytest.mark.parametrize("path", [*_sources("tools"), *_sources("calibration")], ids=lambda p: p.name)
def test_no_fitting_code_knows_the_pairs(path: Path) -> None:
    """The pairs and the sets of `evals` are test sets: what fits constants or measures for the fit must not name their files."""
    text = path.read_text()
    assert "measured.json" not in text
    assert not re.search(r"fixtures\W+pairs|shared/pairs|heldout|\bevals\b|\bh[12]00\.json", text)
    assert not any(module.startswith("kernlint.fixtures") for module in _imports(path))
    assert "accuracy" not in {module.split(".")[-1] for module in _imports(path)}


def test_what_is_fitted_to_programs_is_named() -> None:
    """Scripts that open programs with their times write no constants of the model, and constants chosen on such times say so; these are
    all, and ``docs/model.md`` names them."""
    writes = re.compile(r"\bcost\W+data\b|\bfit_\w+\.TARGET\b|\bkernlint\.cost\.fitted\b")
    chosen = re.compile(r"\b(?:benchmarks|evals)/\w+\.py\b")
    patterns = {"evals": writes, "benchmarks": writes, "calibration": chosen, "kernlint/cost": chosen}
    found = {
        path.relative_to(ROOT).as_posix()
        for folder, pattern in patterns.items()
        for path in _sources(folder)
        if pattern.search(path.read_text())
    }
    assert found == {"evals/spread.py", "calibration/fit_dots.py", "kernlint/cost/convolutions.py"}
    model = (ROOT / "docs" / "model.md").read_text()
    assert all(f"`{name}`" in model for name in found)


def test_sets_that_are_fitted_to_are_listed_by_name() -> None:
    """A new set is met before anything is fitted to it: it does not join by lying there."""
    text = (ROOT / "evals" / "spread.py").read_text()
    assert "glob" not in text and "iterdir" not in text


def _stage(module: str) -> str | None:
    if module == "kernlint.rules.finding" or module.startswith("kernlint.rules.proofs"):
        return "proofs"  # what rules and operators share
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in STAGES else None


@pytest.mark.parametrize("stage", [s for s in STAGES if (ROOT / "kernlint" / s).is_dir() or s in ("rules", "proofs")])
def test_data_flows_in_one_direction(stage: str) -> None:
    folder = {"rules": "rules", "proofs": "rules/proofs"}.get(stage, f"kernlint/{stage}")
    allowed = set(STAGES[: STAGES.index(stage) + 1])
    for path in _sources(folder):
        if stage == "rewrite" and path.stem in BOUND_TO_A_RULE:
            continue
        for module in _imports(path):
            other = _stage(module)
            assert other is None or other in allowed, f"{path.relative_to(ROOT)} imports {module}"


def test_files_hold_one_idea() -> None:
    """As far as their length tells: what is longer is cut by ideas, not by lines."""
    lengths = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n")
        for folder in ("kernlint", "rules")
        for path in _sources(folder)
    }
    assert not {path: count for path, count in lengths.items() if count > LONGER.get(path, LONGEST)}


@pytest.mark.parametrize("part", INTERPRETERS)
def test_interpreters_import_in_one_direction(part: str) -> None:
    folder = ROOT / "kernlint/interpret" / part
    later = INTERPRETERS[INTERPRETERS.index(part) + 1 :]
    for path in _sources(f"kernlint/interpret/{part}") if folder.is_dir() else [folder.with_suffix(".py")]:
        for module in _imports(path):
            other = module.removeprefix("kernlint.interpret.").partition(".")[0]
            assert module == "kernlint.interpret" or other not in later, f"{path.relative_to(ROOT)} imports {module}"


def test_codemods_that_are_bound_to_a_rule_grow_fewer() -> None:
    """Those that are named as such do import rules: a name that need not be there any more goes."""
    for name in BOUND_TO_A_RULE:
        stages = {_stage(module) for module in _imports(ROOT / "kernlint/rewrite" / f"{name}.py")}
        assert "rules" in stages, name


def test_rules_hold_no_speedups() -> None:
    """No rule multiplies a time or names a gain outside its documentation: estimates come from the cost model."""
    for path in _sources("rules"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword):
                assert node.arg not in ("speedup", "gain", "expected_speedup", "low", "high"), path
            if isinstance(node, ast.FunctionDef):
                assert "speedup" not in node.name, path


def test_analysis_never_imports_or_runs_what_it_reads() -> None:
    for folder in (
        "kernlint/syntax",
        "kernlint/interpret",
        "kernlint/cost",
        "kernlint/workload",
        "kernlint/verdict",
        "rules",
    ):
        for path in _sources(folder):
            tree = ast.parse(path.read_text())
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    assert node.func.id not in ("exec", "eval", "__import__"), path
                    # Python's compiler tells what its grammar lets through; nothing runs the code that it makes.
                    assert node.func.id != "compile" or path.match("kernlint/syntax/tree.py"), path
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    names = [a.name for a in node.names] + [getattr(node, "module", "") or ""]
                    assert not {"torch", "triton", "runpy", "subprocess"} & {n.split(".")[0] for n in names}, path


def test_programs_are_started_in_four_places() -> None:
    """git by what knows how to, the code under test by `verify`, the disassembler by its child, and workers of our own where a
    program of many threads, such as a training loop, asks for them."""
    starts = {
        "kernlint/lint/git.py",
        "kernlint/verify/sandbox.py",
        "kernlint/verify/child/compiling.py",
        "kernlint/crew.py",
    }
    names = re.compile(r"\bsubprocess\b|\bos\.(system|popen|spawn\w*|exec\w*|posix_spawn\w*|startfile)\b")
    found = {str(path.relative_to(ROOT)) for folder in ("kernlint", "rules") for path in _sources(folder)
             if names.search(path.read_text())}  # fmt: skip
    refuses = {"kernlint/verify/child/confine.py"}  # which only names what it does not let happen
    assert found - refuses == starts


def test_rule_docs_are_up_to_date() -> None:
    import write_rule_docs

    assert write_rule_docs.TARGET.read_text(encoding="utf-8") == write_rule_docs.page()


def test_dataclasses_are_made_by_the_house() -> None:
    """Those of the standard library cost half of what loading kernlint takes."""
    for folder in ("kernlint", "rules"):
        for path in _sources(folder):
            text = path.read_text()
            if path.name == "records.py" or "dataclasses" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                    assert "dataclass" not in [alias.name for alias in node.names], path


def _setup(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What setup.py tells of the distribution."""
    setuptools = pytest.importorskip("setuptools")
    said: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **told: said.update(told))
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    return said


def test_everything_is_packaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing from a wheel is missed only by who installs it."""
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    folders = {path.parent.relative_to(ROOT) for top in ("kernlint", "rules", "schema") for path in _sources(top)}
    names = {".".join(folder.parts) for folder in folders}
    packages = _setup(monkeypatch)["packages"]
    assert {name if name.startswith("kernlint") else f"kernlint.{name}" for name in names} == set(packages)
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    data = [pattern for patterns in setuptools["package-data"].values() for pattern in patterns]
    for top in ("kernlint", "rules", "schema"):
        for path in (ROOT / top).rglob("*.*"):
            if path.suffix not in (".py", ".pyc") and path.is_file():
                assert any(path.match(pattern) for pattern in data), path


def test_links_of_the_readme_work_outside_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    links = re.compile(r"\]\(([^)]*)\)")
    there = links.findall(_setup(monkeypatch)["long_description"])
    here = links.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [link for link in there if not link.startswith("https://")] == []
    assert [link.removeprefix(f"{REPOSITORY}/blob/main/") for link in there] == here
