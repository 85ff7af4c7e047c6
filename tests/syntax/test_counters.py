"""``while`` statements that are a count, and those that only look like one."""

from __future__ import annotations

import libcst as cst
import pytest

from kernlint.syntax.counters import Counter, counter


def read(source: str) -> Counter | None:
    (loop,) = cst.parse_module(source).body
    assert isinstance(loop, cst.While)
    return counter(loop)


@pytest.mark.parametrize(
    ("source", "up", "inclusive"),
    [
        pytest.param("while t < n:\n    f(t)\n    t += 1\n", True, False, id="up"),
        pytest.param("while n > t:\n    f(t)\n    t += 1\n", True, False, id="the bound first"),
        pytest.param("while t <= x.shape[0] - 1:\n    f(t)\n    t = t + 2\n", True, True, id="written out"),
        pytest.param("while t < x.size(1):\n    f(t)\n    t = 1 + t\n", True, False, id="a size"),
        pytest.param("while t >= 0:\n    f(t)\n    t -= 1\n", False, True, id="down"),
        pytest.param("while t < n: f(t); t += s\n", True, False, id="on one line"),
    ],
)
def test_counts(source: str, up: bool, inclusive: bool) -> None:
    found = read(source)
    assert found is not None and found.name.value == "t" and (found.up, found.inclusive) == (up, inclusive)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("while t < n:\n    t += 1\n    f(t)\n", id="counts before the end"),
        pytest.param("while t < n:\n    t *= 2\n", id="doubles"),
        pytest.param("while t > n:\n    f(t)\n    t += 1\n", id="away from the bound"),
        pytest.param("while t < n:\n    n -= 1\n    t += 1\n", id="the bound changes"),
        pytest.param("while t < self.n:\n    self.n = f(t)\n    t += 1\n", id="the bound is an attribute that changes"),
        pytest.param("while t < len(q):\n    q.append(t)\n    t += 1\n", id="the length of a list that grows"),
        pytest.param("while t < n:\n    t = f(t)\n    t += 1\n", id="counts twice"),
        pytest.param("while t < n:\n    if f(t):\n        continue\n    t += 1\n", id="skips the count"),
        pytest.param("while t < n:\n    if f(t):\n        break\n    t += 1\n", id="leaves"),
        pytest.param("while t < n and f(t):\n    t += 1\n", id="a further condition"),
        pytest.param("while 0 < t < n:\n    t += 1\n", id="two bounds"),
        pytest.param("while t != n:\n    t += 1\n", id="unequal"),
        pytest.param("while t < n:\n    f((n := n - 1))\n    t += 1\n", id="the bound changes in an expression"),
        pytest.param("while t < n:\n    s += 1\n", id="another name"),
        pytest.param("while t < t + 1:\n    t += 1\n", id="a bound that moves along"),
        pytest.param("while t < n:\n    t += 1\nelse:\n    f()\n", id="an else"),
    ],
)
def test_does_more_than_count(source: str) -> None:
    assert read(source) is None
