"""What the comparison with the reference finds of faults planted in correct programs.

    python benchmarks/planted_faults.py FOLDER... [--count 60] [--markdown FILE] [--list]

Each FOLDER holds folders with a `reference.py` and correct programs beside it. In the `@triton.jit` functions of each one line is
changed at a time; which changes are kept is told by a hash, evenly over the kinds. A fault counts as found when a rule from KL765 to
KL769 reports an error; "any error" also counts other rules. Some planted faults change nothing that a run would show.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import all_rules

COMPARED = frozenset({"KL765", "KL766", "KL767", "KL768", "KL769"})


@dataclass(frozen=True)
class Planted:
    path: str
    reference: str
    kind: str
    line: int
    text: str

    @property
    def order(self) -> str:
        return hashlib.sha256(
            f"{Path(self.path).parent.name}/{Path(self.path).name} {self.kind} {self.line}".encode()
        ).hexdigest()


def _is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list)


def _call(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names


def _named(node: ast.AST, text: str) -> bool:
    return text in ast.unparse(node).lower()


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in the place of ``node``, with the kind of fault."""
    if isinstance(node, ast.BinOp) and not _named(node, "ptr") and not _named(node, "stride"):
        if isinstance(node.op, ast.Add) and _call(node.right, "load"):
            yield "a term left out", node.left
        if isinstance(node.op, ast.Mult) and not isinstance(node.left, ast.Constant):
            yield "a factor left out", node.left
        if isinstance(node.op, ast.Sub):
            yield "a wrong operator", ast.BinOp(node.left, ast.Add(), node.right)
        if isinstance(node.op, ast.Div):
            yield "a wrong operator", ast.BinOp(node.left, ast.Mult(), node.right)
    if (
        isinstance(node, ast.Constant)
        and type(node.value) is float
        and node.value not in (0.0, 1.0)
        and node.value > -1e6
    ):
        yield "a wrong constant", ast.Constant(node.value * 1.5)
    if _call(node, "maximum", "minimum") and isinstance(node, ast.Call):
        yield "an activation left out", node.args[0]
    if _call(node, "sigmoid", "exp", "erf", "tanh", "rsqrt", "sqrt", "log") and isinstance(node, ast.Call):
        yield "an activation left out", node.args[0]
    if _call(node, "sum", "max") and isinstance(node, ast.Call):
        other = copy.deepcopy(node)
        for keyword in other.keywords:
            if keyword.arg == "axis" and isinstance(keyword.value, ast.Constant) and keyword.value.value == 1:
                keyword.value = ast.Constant(0)
                yield "another axis", other
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("range", "tl.range") and len(node.args) == 3:
        start, stop, step = node.args
        yield "a range off by one", ast.Call(node.func, [ast.BinOp(start, ast.Add(), step), stop, step], node.keywords)
        yield "a range off by one", ast.Call(node.func, [start, ast.BinOp(stop, ast.Sub(), step), step], node.keywords)
    if (
        isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and isinstance(node.ops[0], ast.Lt)
        and _named(node.left, "off")
    ):
        less = ast.BinOp(node.comparators[0], ast.Sub(), ast.Constant(1))
        yield "a mask off by one", ast.Compare(node.left, node.ops, [less])


class _Exchange(ast.NodeTransformer):
    def __init__(self, number: int, new: ast.AST) -> None:
        self.number, self.new, self.seen = number, new, -1

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.seen += 1
        return self.new if self.seen == self.number else super().generic_visit(node)


def planted(path: Path) -> Iterator[Planted]:
    tree = ast.parse(path.read_text())
    for place, function in enumerate(tree.body):
        if not _is_kernel(function):
            continue
        order = list(_in_order(function))
        for number, node in enumerate(order):
            for kind, new in _changes(node):
                changed = copy.deepcopy(tree)
                changed.body[place] = _Exchange(number, ast.copy_location(new, node)).visit(changed.body[place])
                text = ast.unparse(ast.fix_missing_locations(changed))
                yield Planted(str(path), str(path.parent / "reference.py"), kind, getattr(node, "lineno", 0), text)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def errors(one: Planted) -> list[str]:
    codes = frozenset(rule.code for rule in all_rules() if rule.default and rule.category == "correctness")
    reference = Path(one.reference)
    job = Job(one.path, one.text.encode(), FileSettings(codes), (str(reference), reference.read_bytes()))
    return sorted({f.code for f in check_file(job).findings if f.severity == "error"})


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--list", action="store_true", help="print each planted fault with its errors")
    parser.add_argument("--markdown", help="write the table to this file too")
    options = parser.parse_args(arguments)
    files = [f for folder in options.folders for f in sorted(Path(folder).glob("*/*.py")) if f.name != "reference.py"]
    files = [f for f in files if (f.parent / "reference.py").exists()]
    by_kind: dict[str, list[Planted]] = {}
    for path in files:
        for one in planted(path):
            by_kind.setdefault(one.kind, []).append(one)
    chosen: list[Planted] = []
    queues = [sorted(found, key=lambda one: one.order) for _, found in sorted(by_kind.items())]
    while len(chosen) < options.count and any(queues):
        for queue in queues:
            if queue and len(chosen) < options.count:
                chosen.append(queue.pop(0))
    with ProcessPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(errors, chosen))
    lines = ["| fault | planted | found | any error |", "| --- | --- | --- | --- |"]
    for kind in sorted(by_kind):
        answers = [codes for one, codes in zip(chosen, found) if one.kind == kind]
        hit = sum(bool(COMPARED & set(codes)) for codes in answers)
        lines.append(f"| {kind} | {len(answers)} | {hit} | {sum(map(bool, answers))} |")
    total = sum(bool(COMPARED & set(codes)) for codes in found)
    lines.append(f"| **all** | {len(found)} | {total} | {sum(map(bool, found))} |")
    print("\n".join(lines))
    for one, codes in zip(chosen, found) if options.list else ():
        print(f"{one.kind}: {one.path}:{one.line}: {codes}")
    if options.markdown:
        Path(options.markdown).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
