"""Names that nothing binds, by Python's scopes."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.syntax.scopes import undefined_names
from kernlint.syntax.tree import parse_module


def names(source: str) -> list[str]:
    return [use.name for use in undefined_names(parse_module(textwrap.dedent(source), "m.py"))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("def f(x):\n    return math.ceil(x)\n", ["math"], id="no import"),
        pytest.param("def f():\n    return g()\n", ["g"], id="no function"),
        pytest.param(
            "class A:\n    B = 1\n    def f(self):\n        return B\n", ["B"], id="methods do not see their class"
        ),
        pytest.param("def f(x: T):\n    return x\n", ["T"], id="annotation"),
        pytest.param("def f():\n    def g():\n        return y\n    x = 1\n    return g\n", ["y"], id="nested"),
        pytest.param("x = [a for b in range(3)]\n", ["a"], id="comprehension"),
        pytest.param("def f(x):\n    if x:\n        return 1\n    return g\n", ["g"], id="behind an end of a branch"),
        pytest.param("def f():\n    assert x\n    return g\n", ["x", "g"], id="behind a check"),
        pytest.param("def f():\n    assert False\n    return g\n", [], id="behind the end"),
        pytest.param("def f(x):\n    if x:\n        raise x\n        g()\n    return x\n", [], id="end of a branch"),
    ],
)
def test_undefined(source: str, expected: list[str]) -> None:
    assert names(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import math\ndef f(x):\n    return math.ceil(x)\n", id="import"),
        pytest.param("def f():\n    return g()\ndef g():\n    return 1\n", id="defined later"),
        pytest.param("def f():\n    global n\n    n = 1\ndef g():\n    return n\n", id="global"),
        pytest.param("try:\n    import a\nexcept ImportError:\n    a = None\nprint(a)\n", id="try"),
        pytest.param("def f(*args, **kwargs):\n    return args, kwargs\n", id="star parameters"),
        pytest.param(
            "def f():\n    try:\n        pass\n    except ValueError as e:\n        print(e)\n", id="except as"
        ),
        pytest.param("with open('a') as (b, c):\n    print(b, c)\n", id="with as"),
        pytest.param("def f(x):\n    if (n := len(x)) > 1:\n        return n\n", id="walrus"),
        pytest.param("def f(x):\n    [y := a for a in x]\n    return y\n", id="walrus in a comprehension"),
        pytest.param(
            "def f(x):\n    x[0] = g(-(y := x)).z + 1\n    return y\ng = len\n", id="walrus deep in an expression"
        ),
        pytest.param("x = [a + b for a in range(3) for b in range(a)]\n", id="two clauses"),
        pytest.param("f = lambda a, *b, c=1: (a, b, c)\n", id="lambda"),
        pytest.param(
            "class A:\n    B = 1\n    C = B + 1\n    def f(self):\n        return __class__\n", id="class body"
        ),
        pytest.param("from x import *\nprint(anything)\n", id="star import"),
        pytest.param("globals()['a'] = 1\nprint(a)\n", id="globals()"),
        pytest.param("made = eval\nmade('a := 1')\nprint(a)\n", id="eval"),
        pytest.param("import builtins\nbuiltins.exec('a = 1')\nprint(a)\n", id="builtins.exec"),
        pytest.param("from __future__ import annotations\ndef f(x: T): ...\n", id="lazy annotation"),
        pytest.param("x = object()\nx.attribute = 1\nf = dict(keyword=x.other)\n", id="attributes and keywords"),
        pytest.param(
            "def f(x):\n    match x:\n        case {'a': b, **rest}:\n            return b, rest\n", id="match"
        ),
        pytest.param("type Row[T] = list[T]\ndef f[*P](x: Row[int]) -> Row: ...\n", id="type"),
        pytest.param("def first[T](x: list[T]) -> T:\n    y: T = x[0]\n    return y\n", id="parameter of types"),
        pytest.param("import a.b.c\nprint(a.b)\n", id="dotted import"),
        pytest.param("def f(x, y=len):\n    for i, (j, *k) in x:\n        print(i, j, k, y)\n", id="unpacking"),
    ],
)
def test_defined(source: str) -> None:
    assert names(source) == []


def test_constants_that_grow_without_end():
    lines = [
        "A0 = 'a'",
        "B = B",
        *(f"A{i + 1} = A{i} + A{i}" for i in range(64)),
        "def f():",
        "    if A64 == 'a' or B:",
        "        g()",
    ]
    assert [use.name for use in undefined_names(parse_module("\n".join(lines), "m.py"))] == ["g"]


def test_a_model_in_evaluation_mode_makes_no_names() -> None:
    text = "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.eval()\nprint(math.pi)\n"
    assert [use.name for use in undefined_names(parse_module(text, "m.py"))] == ["math"]
