"""Kernels as values: what each was computed from, through helpers, loops and branches; and where nothing is said."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.interpret.program import Program
from kernlint.records import replace
from kernlint.syntax.tree import parse_module
from kernlint.workload import Kernel, Load, Loop, Store
from kernlint.workload.values import Value, Values


def kernel(body: str) -> Kernel:
    """The kernel ``k(x, y, n, B=32)`` with this body, on fp16 ``x`` and fp32 ``y``, with ``n`` open."""
    head = "import torch, triton\nimport triton.language as tl\n@triton.jit\ndef k(x, y, n, B: tl.constexpr):\n"
    host = (
        "\nclass ModelNew(torch.nn.Module):\n    def forward(self, x, n: int):\n        y = torch.empty(64)\n"
        "        k[(8,)](x.half(), y, n, B=32)\n"
    )
    source = head + textwrap.indent(textwrap.dedent(body), "    ") + host
    (workload,) = Program(parse_module(source, "k.py")).workloads()
    (launch,) = workload.launches()
    return launch.kernel


def values_of(read: Kernel) -> Values:
    assert read.values is not None
    return read.values


def written(values: Values, value: Value, depth: int = 8) -> str:
    """``value`` written out, down to what loops carry."""
    if value.op == "constant":
        return str(value.detail)
    if value.op in ("parameter", "phi"):
        return str(value.detail or value.name)
    parts = [written(values, one, depth - 1) for one in values.operands(value)] if depth else ["..."]
    if len(parts) == 2 and not value.roles[0]:
        return f"({parts[0]} {value.op} {parts[1]})"
    return f"{value.op}({', '.join(parts)})"


def stored(body: str) -> str:
    """What the one store of a kernel stores, written out."""
    read = kernel(body)
    values = values_of(read)
    store = values.at_node(read.stores()[0].id)
    assert store is not None
    value = values.argument(store, "value")
    assert value is not None
    return written(values, value)


def test_operands_of_each_operation() -> None:
    assert stored("tl.store(y, tl.exp(tl.load(x) * 2.0) + n)") == "(exp((load(x) * 2.0)) + n)"


@pytest.mark.parametrize(
    "call", ["tl.where(n > 0, a, 0.0)", "tl.where(n > 0, y=0.0, x=a)", "tl.where(condition=n > 0, x=a, y=0.0)"]
)
def test_arguments_by_their_names(call: str) -> None:
    read = kernel(f"a = tl.load(x)\ntl.store(y, {call})")
    values = values_of(read)
    (where,) = [value for value in values if value.op == "where"]
    found = {role: written(values, one) for role, one in zip(where.roles, values.operands(where))}
    assert found == {"condition": "(n > 0)", "x": "load(x)", "y": "0.0"}


def test_one_name_for_each_operation() -> None:
    assert stored("tl.store(y, tl.load(x).to(tl.float32))") == stored("tl.store(y, tl.cast(tl.load(x), tl.float32))")
    tile = "a = tl.load(x + tl.arange(0, B)[:, None] * 64 + tl.arange(0, B))\n"
    assert stored(f"{tile}tl.store(y + tl.arange(0, B), tl.sum(tl.trans(a), 0))").startswith("sum(trans(load(")


def test_helpers_are_followed_and_names_are_gone() -> None:
    plain = stored("tl.store(y, tl.maximum(tl.load(x) - 1.0, 0.0))")
    assert plain == "maximum((load(x) - 1.0), 0.0)"
    assert stored("half = tl.load(x) - 1.0\nhalf = tl.maximum(half, 0.0)\ntl.store(y, half)") == plain


def test_a_loop_carries_a_phi() -> None:
    read = kernel("""
    acc = 0.0
    for i in range(0, n, 2):
        acc += tl.load(x + i)
    tl.store(y, acc)
    """)
    values = values_of(read)
    (loop,) = [node for node, _ in read.walk(Loop)]
    assert isinstance(loop, Loop)
    (phi,) = values.phis(loop.id)
    assert phi.name == "acc"
    before, end = values.operands(phi)
    assert (before.detail, end.op) == (0.0, "+")
    assert values.operands(end)[0] is phi
    assert values.within(end, loop.id)
    (index,) = [value for value in values if value.op == "index"]
    assert written(values, index) == "index(0, n, 2)"
    (exit,) = [value for value in values if value.op == "exit" and phi in values.operands(value)]
    assert not values.within(exit, loop.id)
    assert [user.op for user in values.users(exit)] == ["store"]


def test_loops_in_loops() -> None:
    read = kernel("""
    total = 0.0
    kept = tl.load(y)
    for i in range(n):
        part = 0.0
        for j in range(n):
            part += tl.load(x + j) * kept
        total += part
    tl.store(y, total)
    """)
    values = values_of(read)
    outer, inner = (node.id for node, _ in read.walk(Loop) if isinstance(node, Loop))
    assert [phi.name for phi in values.phis(outer)] == ["total"]
    assert [phi.name for phi in values.phis(inner)] == ["part"]
    (part,) = values.phis(inner)
    assert values.within(part, outer)
    assert (
        stored("""
    a = tl.load(x)
    for i in tl.static_range(2):
        a = a * 2.0
    tl.store(y, a)
    """)
        == "((load(x) * 2.0) * 2.0)"
    )


def test_a_while_counts() -> None:
    read = kernel("""
    i = 0
    total = 0.0
    while i < n:
        total += tl.load(x + i)
        i += 4
    tl.store(y, total)
    """)
    values = values_of(read)
    (loop,) = [node.id for node, _ in read.walk(Loop) if isinstance(node, Loop)]
    assert [phi.name for phi in values.phis(loop)] == ["i", "total"]
    (test,) = [value for value in values if value.op == "while"]
    assert [written(values, one) for one in values.operands(test)] == ["(i < n)"]


def test_branches_join() -> None:
    assert (
        stored("""
    a = tl.load(x)
    if n > 4:
        a = a * 2.0
    tl.store(y, a)
    """)
        == "either((n > 4), (load(x) * 2.0), load(x))"
    )
    assert stored("tl.store(y, tl.load(x) if n > 4 else 1.0)") == "either((n > 4), load(x), 1.0)"
    assert stored("a = tl.load(x)\nif n > 4:\n    b = a * 2.0\ntl.store(y, a)") == "load(x)"


def test_conditions_around_a_value() -> None:
    read = kernel("if n < 4:\n    return\nif n > 9:\n    tl.store(y, 1.0)")
    values = values_of(read)
    (store,) = [value for value in values if value.op == "store"]
    around = [(written(values, values[region.test]), region.holds) for region in store.region.around() if region.test]
    assert around == [("(n > 9)", True), ("(n < 4)", False)]


def test_several_results() -> None:
    assert stored("a, b = tl.split(tl.reshape(tl.load(x + tl.arange(0, B)), (16, 2)))\ntl.store(y, b)").startswith(
        "item(split(reshape(load("
    )


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(4):\n    if n > i:\n        break\n    tl.store(y + i, 1.0)",
        "a = 0.0\nwhile a < n:\n    if n > 3:\n        continue\n    a += 1.0",
        "if n > 1:\n    if n > 2:\n        return\ntl.store(y, 1.0)",
        "a = (tl.load(x), 1.0)\nfor i in range(n):\n    a = (a[0] + 1.0, 1.0)\ntl.store(y, a[0])",
        "raise ValueError",
        "for i in range(n):\n    return",
    ],
)
def test_nothing_is_said_where_control_flow_decides(body: str) -> None:
    assert kernel(body).values is None


def test_a_change_of_the_body_leaves_them_as_they_were_read() -> None:
    read = kernel("tl.store(y, tl.load(x))")
    changed = replace(read, body=tuple(node for node in read.body if not isinstance(node, Load)))
    assert [value.op for value in values_of(changed)] == [value.op for value in values_of(read)]
    assert changed == replace(changed, read=None)


def test_nodes_and_values_belong_together() -> None:
    read = kernel("a = tl.load(x)\nfor i in range(n):\n    b = tl.load(x + i)\n    tl.store(y + i, a + b)")
    values = values_of(read)
    for node, _ in read.walk((Load, Store)):
        assert isinstance(node, (Load, Store))
        value = values.at_node(node.id)
        assert value is not None
        assert value.op == ("load" if isinstance(node, Load) else "store")
        assert value.span == node.span
    ids = {value.id for value in values}
    assert all(set(value.operands) <= ids for value in values)


@pytest.mark.parametrize(
    "body",
    [
        "a = [1]\na.append(a)\ntl.store(y, tl.load(x, a))",
        "tl.store(y, tl.sum(nothing, here=n))",
        "tl.store(y, tl.load(x, *n, **n))",
        "a = tl.load(x)\nfor a in range(a):\n    a = tl.load(x + a)\ntl.store(y, a)",
    ],
)
def test_whatever_is_written(body: str) -> None:
    values = kernel(body).values
    for value in values or ():
        assert written(values, value)  # type: ignore[arg-type]
