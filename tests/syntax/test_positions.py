"""The quick positions are those that LibCST computes itself."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from kernlint.syntax.tree import Module, parse_module
from kernlint.workload import Span

ROOT = Path(__file__).resolve().parents[2]

SOURCES = {
    "decorated": "@a.b(1)\n@c\nasync   def f(x: int = 1, /, y=2, *z, k: T = 3, **kw) -> int:\n    return x\n",
    "class": "class A(B, *C, metaclass=M, **kw):\n    x: int = 1\n    y: str\n",
    "elif": "if a:\n    b\nelif c:\n    d\nelse:\n    if e:\n        f\n",
    "brackets": "x = (a + (b)) * ((c))\ny = ((a, b), (c)), d\n(z) = (1)\n",
    "boolean": "x = a and b and (c and d) or not e and f\n",
    "comparison": "x = 0 < a <= b != (c)\n",
    "call": "f(a, *b, c, d=1, *e, **g)(h)[i](j for j in k)\n",
    "subscript": "a[1], a[1, 2], a[1,], a[b:c], a[::d, ...], a[(1, 2)], a[:, None]\n",
    "collections": "[*a, b], {*c, d}, {**e, f: g}, {}\n",
    "comprehension": "[x for y in z if a if b for x in y], {k: v for k, v in w}, {s for s in t}\n",
    "lambda": "f = lambda x, *y, k=1, **z: (yield x)\n",
    "strings": "x = 'a' 'b' f'{c!r:>{d}}' + rb'e' + '''f\ng'''\n",
    "names": "x = (y := None), True, ..., 1j, -1.5\n",
    "statements": "for i, j in k: pass\nelse:\n    x\nwhile a: break\nwith b as c, d: e; f\nraise g from h\nassert i, j\n",
    "try": "try:\n    a\nexcept (B, C) as d:\n    e\nexcept F:\n    g\nelse:\n    h\nfinally:\n    i\n",
    "await": "async def f():\n    async with a as b:\n        await c\n    async for d in e:\n        yield\n    del g, h\n",
    "not ascii": "äö = 'ü' + f(x) # ß\n名 = äö + g(äö)\n",
    "line ends": "x = 1\r\ny = (2,\r\n     3)\rz = f(\n  4)\n",
    "continued": "x = 1 + \\\n    f(2)\ndef \\\n  f(): pass\n",
    "lines": "(a)\nx = 1; y = (2);\nif a: b; (c) # d\nz = (\n  1\n) ; w\n",
    "parameters": "def f(a, b : int, c=(1), d: (T) = g(2), *e: int, k=1, **kw): ...\nx = lambda a, b=1, *c: a\n",
    "tabs": "if a:\n\tb = f(1,\n\t\t2)\n",
}


def _compare(text: str) -> int:
    """How many nodes have a quick position; each must be the slow one."""
    module = parse_module(text, "a.py", layout=True)
    assert module._near is not None
    slow = MetadataWrapper(module.tree, unsafe_skip_copy=True).resolve(PositionProvider)
    found = 0
    for node, position in slow.items():
        known = module._near_span(node)
        if known is not None:
            start, end = position.start, position.end
            assert known == Span("a.py", start.line, start.column + 1, end.line, end.column + 1), type(node).__name__
            found += 1
    return found


@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES)
def test_of_every_kind_of_node(text: str) -> None:
    assert _compare(text) > 0


def test_of_real_code() -> None:
    for path in [*ROOT.glob("kernlint/interpret/host/*.py"), *ROOT.glob("fixtures/**/*.py")][::7]:
        assert _compare(path.read_text("utf-8")) > 10


def test_lines_of_statements_have_a_quick_position() -> None:
    module = parse_module(SOURCES["lines"], "a.py")
    lines = [*module.of(cst.SimpleStatementLine), *module.of(cst.SimpleStatementSuite)]
    assert len(lines) == 4 and all(module._near_span(line) is not None for line in lines)


def test_parameters_have_a_quick_position() -> None:
    module = parse_module("def f(a, b: int, c=1, d: T = g(2)): pass\n", "a.py")
    assert all(module._near_span(parameter) is not None for parameter in module.of(cst.Param))


def test_names_of_attributes_and_tuples_in_brackets_have_a_quick_position() -> None:
    text = "f[(a.b, c . d)]((x,\n  y ), (1, 2,), ((z), w), (*v, u), (é.ａ, b))\n"
    assert _compare(text) > 0
    module = parse_module(text, "a.py")
    told = [module._near_span(node.attr) is not None for node in module.of(cst.Attribute)]
    assert told == [True, True, False]  # of that Python has another spelling
    # The slow way where a comma, a star or brackets of its own are beside the first or last element.
    assert [module._near_span(node) is not None for node in module.of(cst.Tuple)] == [
        True,
        True,
        False,
        False,
        False,
        True,
    ]


def test_a_tree_of_another_source_has_no_quick_positions() -> None:
    for other in ("x = 1\n", "x = 1\nf(2)\n"):
        assert Module(cst.parse_module(other), "x = 1\ny = 2\n", "a.py")._near is None


def test_what_has_no_counterpart_is_computed_the_slow_way() -> None:
    module = parse_module("x = f((1, 2), y=3)  # note\n", "a.py")
    call = module.tree.body[0].body[0].value  # type: ignore[union-attr]
    assert module.span(call.args[0].value).column == 8  # brackets are not part of a tuple
    assert module.span(call.args[0]).column == 7
    assert module.span(call.args[1].keyword).column == 15
    assert module.at(module.span(call), cst.Call) is call
    assert module.at(module.span(call.args[0]), cst.Arg) is call.args[0]
    assert module.at(module.span(call), cst.Name) is None
    assert module.span(call).end_column == 19


def test_python_that_cannot_read_the_source_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlint.syntax.tree.python_tree", lambda text: None)
    module = parse_module("x = f(1)\n", "a.py")
    assert module.span(module.tree.body[0].body[0]).end_column == 9  # type: ignore[union-attr]


def test_a_form_feed_is_a_character_of_its_line() -> None:
    module = parse_module("x = 1\n\fy = f(2)\n", "a.py")
    assert module.span(module.tree.body[1].body[0]).column == 2  # type: ignore[union-attr]
