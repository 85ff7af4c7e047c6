"""KL106 and KL508: what the loop of an attention kernel computes too wide, or for nothing."""

from __future__ import annotations

import textwrap

import pytest
from support.findings import Found, run_rule

from kernlint.rules.registry import find_rule


def of(code: str, *changes: tuple[str, str]) -> Found:
    source = textwrap.dedent(find_rule(code).bad)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return run_rule(code, source)


LOAD = "v = tl.load(V + base + (start + n)[:, None] * D + d[None, :]).to(tl.float32)"
RAW = "v = tl.load(V + base + (start + n)[:, None] * D + d[None, :])"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([(LOAD, RAW), ("tl.dot(p, v)", "tl.dot(p, v.to(tl.float32))")], id="cast at the dot"),
        pytest.param([(LOAD, RAW), ("tl.dot(p, v)", "tl.dot(p, tl.cast(v, tl.float32))")], id="tl.cast"),
        pytest.param(
            [("tl.max(s, 1)", "tl.max(s, axis=1)"), (" v = ", " values = "), ("(p, v)", "(p, values)")], id="renamed"
        ),
        pytest.param([("class ModelNew", "class Other"), ("def get_inputs", "def other")], id="types not known"),
    ],
)
def test_widened_values_are_found(changes: list[tuple[str, str]]) -> None:
    assert of("KL106", *changes)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([("dtype=torch.float16", "dtype=torch.float32")], id="an fp32 model"),
        pytest.param([("tl.dot(p, v)", "tl.dot(p.to(tl.float16), v.to(tl.float16))")], id="narrowed again"),
        pytest.param([("tl.max(s, 1)", "1.0")], id="no running maximum"),
        pytest.param([(LOAD, "v = acc")], id="no loaded values"),
        pytest.param([("tl.dot(q, k)", "tl.dot(q.to(tl.float32), k.to(tl.float32))"),
                      ("class ModelNew", "class Other"), ("def get_inputs", "def other")],
                     id="everything widened and types not known"),
    ],
)  # fmt: skip
def test_other_products_are_left_alone(changes: list[tuple[str, str]]) -> None:
    assert not of("KL106", *changes)


MASK = "tl.where(m[:, None] >= n[None, :], tl.exp2(s), 0.0)"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([(MASK, 'tl.exp2(tl.where(m[:, None] >= n[None, :], s, float("-inf")))')], id="scores masked"),
        pytest.param([(MASK, 'tl.exp2(s + tl.where(m[:, None] >= n[None, :], 0, float("-inf")))')], id="added mask"),
        pytest.param([(MASK, "tl.where(n[None, :] <= m[:, None], tl.exp2(s), 0.0)")], id="turned around"),
        pytest.param(
            [(MASK, "tl.where((n[None, :] < N) & (m[:, None] >= n[None, :]), tl.exp2(s), 0.0)")], id="with a bound"
        ),
        pytest.param(
            [("tl.program_id(0) * BM", "(tl.num_programs(0) - 1) * 0 + tl.program_id(0) * BM")], id="zero term"
        ),
        pytest.param(
            [("for start in range(0, N, BN)", "for start in tl.range(0, N, BN, num_stages=2)")], id="tl.range"
        ),
    ],
)
def test_blocks_past_the_diagonal_are_found(changes: list[tuple[str, str]]) -> None:
    assert of("KL508", *changes)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([(MASK, "tl.exp2(s)")], id="no mask"),
        pytest.param([(MASK, "tl.where(n[None, :] < N, tl.exp2(s), 0.0)")], id="only a bound"),
        pytest.param([(MASK, "tl.where(m[:, None] >= n[None, :], tl.exp2(s), 1.0)")], id="something in its place"),
        pytest.param([(MASK, "tl.where(m[:, None] + N >= n[None, :], tl.exp2(s), 0.0)")], id="all keys are before"),
        pytest.param([("m[:, None] >= n[None, :]", "(m[:, None] >= n[None, :]) | (n[None, :] < 128)")], id="prefix"),
        pytest.param([("range(0, N, BN)", "range(0, tl.minimum(N, (tl.program_id(0) + 1) * BM), BN)")], id="bounded"),
        pytest.param([("4096 // 64, 32", "1, 32"), ("4096", "64")], id="one query tile"),
        pytest.param(
            [("total += tl.sum(p, 1)", "total += tl.sum(p, 1)\n        acc += tl.dot(q, q)")], id="unmasked work"
        ),
    ],
)
def test_loops_that_need_their_blocks_are_left_alone(changes: list[tuple[str, str]]) -> None:
    assert not of("KL508", *changes)


def test_half_of_the_work_is_saved() -> None:
    assert 1.4 < of("KL508").promised() < 2.1
