"""Trees without layout have the nodes of LibCST's parser, at the same places."""

from __future__ import annotations

import ast
from pathlib import Path

import libcst as cst
import pytest

from kernlint.syntax.light import LightTree
from kernlint.syntax.light_expressions import Unusual
from kernlint.syntax.tree import Module, parse_module
from kernlint.syntax.walk import walk

ROOT = Path(__file__).parents[2]

#: One construct a line, or more where it takes them.
SOURCES = {
    "brackets": "a = ((b) + c) * (d)\nf((a))\nf((a), b)\nf(a)((b))\n(f)(x)\nx = (a,)\ny = ((a), (b))\nz[(a), (b)]\nz[((a), (b))]\n",
    "brackets of calls": "f(x for x in y)\nf((x for x in y))\n(x for x in (y))\nf(a := 1)\nclass A((B)): pass\nclass C(D): pass\n",
    "brackets before commas": "f((a),)\nf((\n(a)),\n)\nf(((a)) , b)\nclass B((A),): pass\n",
    "slices": "a[:]\na[1:]\na[:2]\na[1:2]\na[1:2:]\na[::]\na[::3]\na[:, None]\na[1,]\na[b:c:d, ...]\na[*b]\n",
    "comments": "f(\n    # (\n    a  # )\n)\nx = (  # (\n    a\n)\ns = '# ('\nt = (a)  # (\n",
    "statements": (
        "import a.b.c as d, e\nfrom . import x\nfrom ..p.q import (y as z, w)\nfrom m import *\n"
        "a = b = 1; c += 2\nd: int = 3\ne: int\ndel a, b\ndel (c)\nassert a, 'x'\nglobal g, h\n"
        "raise A from b\nif a: b; c\nelif d:\n    e\nelse:\n    f\n"
    ),
    "else if": "if a:\n    b\nelse:\n    if c:\n        d\n",
    "blocks": (
        "for i, j in x:\n    continue\nelse:\n    pass\nwhile a:\n    break\n"
        "try:\n    a\nexcept (A, B) as e:\n    b\nexcept C:\n    c\nexcept:\n    d\nelse:\n    e\nfinally:\n    f\n"
        "with a as b, c:\n    d\n"
    ),
    "withs": (
        "with (a): pass\nwith ((a)): pass\nwith (a) as b: pass\nwith (a), (b): pass\nwith (a, b): pass\nwith (a,): pass\n"
        "with (\n    a as b,\n    (c) as d,\n    f(e),\n): pass\nwith ((a), (b)): pass\nwith (a, b) as c: pass\n"
        "with (a, b), c: pass\nwith f(a), (b): pass\nwith (a + b).c: pass\nwith (f)(a): pass\nwith (a)[b] as c: pass\n"
        "async def g():\n    async with (a as b, c): pass\n    async with (await d): pass\n"
    ),
    "functions": (
        "@a\n@(b.c)\nasync def f(a, b: int = 1, /, c=(2), *d, e, g: 'x' = 3, **h) -> (int):\n"
        "    async with a as b: pass\n    async for i in await x: yield i\n"
        "def g(*, a): yield from b\ndef h(): return lambda *, y, z=1: (y, *z)\n"
    ),
    "classes": "@d\nclass A(B, *C, metaclass=M, **k):\n    '''Text.'''\n    x = 1\n",
    "expressions": (
        "a and b and c or d\nnot a\n-a ** ~b\na < b <= c is not d not in e\nx if y else z\n"
        "{1: 2, **a}\n{1, *b}\n[*a, b]\nasync def f(): [x async for x in y if a if b for z in w]\n{x: y for x in z}\n{x for x in y}\n"
        "f(*a, b, c=d, **e)\n0x1F + 1_000 + 1e3 + 2j\nNone, True, ...\n"
    ),
    "chains": (
        "(a) and (b or c) and d\n((a)) or (\n  (b)  # )\n ) or (b, c) or (x for x in y) or (é ) or ((z)) or None\n"
        "f((a and b and c), (d or (e.f[0] or g)) or h or i)\n"
    ),
    "texts": "a = 'x' \"y\"\nb = (rb'z'\n     b'w')\nc = f'{a!r:>{b}} {(c)}'\nd = ('x'\n     f'{y}')\ne = '''\n#('''\nf = ''\n",
    "other letters": "naïve = 'é'; f(naïve)\nx = (é)\n",
    "line ends": "a = (b)\r\nif a:\r\n    c\r\n",
}


def _light(source: str) -> tuple[Module, Module]:
    light = LightTree(source, ast.parse(source))
    return Module(light.tree, source, "x.py", 1, light.counterparts), parse_module(source, "x.py", layout=True)


def _assert_alike(source: str) -> None:
    light, full = _light(source)
    assert [type(node) for node in walk(light.tree)] == [type(node) for node in walk(full.tree)]
    for ours, theirs in zip(light.nodes, full.nodes):
        for field in ("value", "star"):
            if isinstance(getattr(theirs, field, None), str):
                assert getattr(ours, field) == getattr(theirs, field)
        if isinstance(getattr(theirs, "lpar", None), (tuple, list)):
            assert len(ours.lpar) == len(theirs.lpar), full.tree.code_for_node(theirs)
        if isinstance(theirs, (cst.BaseExpression, cst.FunctionDef, cst.Arg, cst.Decorator)):
            assert light.span(ours) == full.span(theirs), full.tree.code_for_node(theirs)


@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in SOURCES.items()])
def test_a_light_tree_is_that_of_libcst(source):
    _assert_alike(source)


def test_the_inner_ones_of_a_chain_cost_no_parse():
    light, _ = _light(SOURCES["chains"])
    assert all(light._near_span(node) is not None for node in light.of(cst.BooleanOperation))


@pytest.mark.parametrize(
    "path", ["fixtures/pairs/flash-ok/before.py", "kernlint/lint/check_file.py", "rules/proofs/indices.py"]
)
def test_a_light_tree_of_a_file(path):
    source = (ROOT / path).read_text()
    light, full = _light(source)
    assert [type(node) for node in walk(light.tree)] == [type(node) for node in walk(full.tree)]
    for ours, theirs in zip(light.nodes, full.nodes):
        near = light._near_span(ours)
        assert near == (full.span(theirs) if type(theirs) is cst.BooleanOperation else full._near_span(theirs))


@pytest.mark.parametrize("source", ["with (a := b): pass\n", "if a: \\\n  b\n", "match a:\n    case 1: pass\n"])
def test_what_only_libcst_reads(source):
    with pytest.raises(Unusual):
        LightTree(source, ast.parse(source))
    assert parse_module(source, "x.py").tree.deep_equals(parse_module(source, "x.py", layout=True).tree)


def test_the_code_of_an_expression_is_that_of_the_source():
    source = "x = f( a,b )+((c*d))  # why\n"
    light = parse_module(source, "x.py")
    (call,) = light.of(cst.Call)
    product = light.of(cst.BinaryOperation)[1]
    assert light.code(call) == "f( a,b )"
    assert light.code(product) == "((c*d))"


def test_a_place_that_python_does_not_tell_is_that_of_libcst():
    source = "from a import b\nx = f'{y}'\n"
    light, full = parse_module(source, "x.py"), parse_module(source, "x.py", layout=True)
    assert [light.span(node) for node in light.of(cst.Name)] == [full.span(node) for node in full.of(cst.Name)]


@pytest.mark.parametrize(
    "source", ["(" * 150 + ")" * 150, "a" + ".b" * 900, "x = " + "-" * 900 + "1", "f(" * 150 + ")" * 150]
)
def test_deep_source(source):
    assert parse_module(source + "\n", "x.py").tree.body


def test_what_stands_in_a_text_is_not_looked_for_elsewhere():
    module = parse_module("a = f'{g(1)}'\nb = h(2)\n", "x.py")
    inside, outside = module.of(cst.Call)
    assert module.at(module.span(outside), cst.Call) is outside
    assert "_with_layout" not in vars(module)
    assert module.at(module.span(inside), cst.Call) is inside
