"""`kernlint explain --why-not`: what every operator answers at the largest causes."""

import textwrap

import jsonschema

from kernlint.analysis import analysis
from kernlint.operators.catalogue import all_operators
from kernlint.report.budget import budget
from kernlint.report.budget_text import render
from kernlint.request import Request
from kernlint.rules.registry import all_rules, find_rule
from kernlint.schema import load
from kernlint.verdict.why_not import why_not


def judged(code, change=lambda text: text):
    return analysis(Request(change(textwrap.dedent(find_rule(code).bad)), path="k.py", device="h100-sxm"))


def test_operators_have_names_of_their_own():
    names = [operator.name for operator in all_operators()]
    assert names[-1] == "generate" and len({*names}) == len(names)
    assert {rule.operator for rule in all_rules()} <= {*names, ""}


def test_a_copy_that_may_go():
    found = {(one.operator, one.possible, one.automatic) for one in why_not(judged("KL301").judgement)}
    assert ("drop", True, True) in found
    assert ("generate", True, True) in found  # from what the program's own kernels compute, as there is no reference


def test_a_refusal_is_a_sentence():
    torch_reads_it = judged("KL301", lambda text: text.replace("return y.to(", "return x.sum() + y.to("))
    refused = [one for one in why_not(torch_reads_it.judgement) if one.operator == "drop" and not one.possible]
    assert any("torch's `sum` reads what it makes too" in one.reason for one in refused)


def test_text_and_json():
    result = budget(judged("KL301"), refusals=True)
    text, data = render(result), result.to_json()
    jsonschema.Draft202012Validator(load("explain")).validate(data)
    assert "may it be applied?" in text and "from what the program computes" in text
    assert data["why_not"] and budget(judged("KL301")).to_json()["why_not"] is None
