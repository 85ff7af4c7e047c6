"""Loops over the tiles of a row: pipelined."""

from __future__ import annotations

from support.rewriting import fixed

from kernlint.rules.registry import find_rule


def test_text_of_a_pipelined_loop() -> None:
    after = fixed(find_rule("KL208").bad, "KL208", header=False)
    assert "in tl.range(0, columns, BLOCK, num_stages=3):" in after
