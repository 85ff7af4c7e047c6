"""The search: one order of what rules find and what causes ask for, and the ways in which a change is made."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.analysis import best_change, read_program
from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.registry import find_rule
from kernlint.verdict.candidate import Candidate, Priced
from kernlint.verdict.judge import Judgement
from kernlint.verdict.search import first_of, ranked


def request(code: str) -> Request:
    return Request(textwrap.dedent(find_rule(code).bad), path="k.py", device="h100-sxm")


def judged(code: str) -> Judgement:
    return best_change(read_program(request(code)))


def test_rules_and_causes_stand_in_one_order() -> None:
    search = judged("KL216").search
    order = [one.finding.rule.code for one in ranked(search.changes, "gpu")]
    assert {*order} == {"", "KL216"} and order.count("KL216") == 1 and len(order) == len(search.changes)
    assert order[0] == "KL216", "at about equal gain a rule has words"
    assert search.best is next(ranked(search.changes, "gpu"))


@pytest.mark.parametrize("code", ["KL501", "KL504", "KL505", "KL506", "KL511", "KL512"])
def test_a_cause_that_a_rule_names_counts_once(code: str) -> None:
    search = judged(code).search
    assert search.best is not None and search.best.finding.rule.code == code
    causes = [one.finding.cause for one in search.changes if one.finding.cause is not None]
    assert search.best.finding.cause in causes and len({*causes}) == len(causes)


def priced(candidate: Candidate, middle: float, low: float) -> Candidate:
    from kernlint.records import replace

    return replace(candidate, gains={"gpu": Priced(100.0, 100.0 / middle, middle, low, 2 * middle)})


def test_what_is_not_worth_it_hides_nothing() -> None:
    tile, structure = judged("KL201").search.best, judged("KL405").search.best
    assert tile is not None and structure is not None and tile.finding.rule.tuning
    unsure, sure = priced(tile, 4.0, 0.9), priced(structure, 1.3, 1.1)
    assert next(ranked([unsure, sure], "gpu")) is unsure
    assert first_of([unsure, sure], "gpu") is sure
    assert first_of([unsure], "gpu") is unsure, "the best rejected one is told"
    assert first_of([], "gpu") is None


def test_where_no_edits_say_it_kernels_are_written_anew() -> None:
    chosen = judged("KL310").chosen
    assert chosen is not None and chosen.attempt.rewriting is None
    assert chosen.fix.anew and chosen.fix.automatic
    (made,) = fix_source(request("KL310"), unsafe=True).applied
    assert (made.code, made.anew, made.effects.applicability) == ("KL310", True, "unsafe")
    refused = fix_source(request("KL310")).refused
    assert [one.unsafe for one in refused if one.code == "KL310"] == [True]


def test_edits_come_before_kernels_written_anew() -> None:
    chosen = judged("KL301").chosen
    assert chosen is not None and chosen.attempt.automatic and not chosen.fix.anew


def test_a_tile_is_no_reason_to_write_kernels_anew() -> None:
    best = judged("KL201").search.best
    assert best is not None and not any(way.anew for way in best.ways())


def test_one_candidate_for_each_cause() -> None:
    changes = judged("KL505").search.changes
    causes = [one.finding.cause for one in changes if one.finding.cause is not None]
    assert len(causes) == len({*causes})
