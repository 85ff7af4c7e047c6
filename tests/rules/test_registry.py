import sys
from types import ModuleType

import pytest

from kernlint.errors import UsageError
from kernlint.rules import registry
from kernlint.rules.base import CATEGORIES, WRITTEN_ANEW, Rule
from kernlint.rules.docs import to_markdown

TEXTS = {
    "code": "KL101",
    "name": "some-bad-pattern",
    "severity": "warning",
    "summary": "a summary",
    "what_it_does": "It looks.",
    "why": "Because.",
    "when_not": "Else.",
    "fix_safety": "Safe.",
    "evidence": "2x on an H100.",
    "bad": "x = 1",
    "good": "x = 2",
}


def make(**changes):
    body = {**TEXTS, **changes, "check": lambda *_: ()}
    return type("Example", (Rule,), {name: value for name, value in body.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"code": "KL1"}, "not a code", id="code"),
        pytest.param({"code": "KL901"}, "not a code such as KL101 \\(to KL899\\)", id="hundred"),
        pytest.param({"name": "Some_Pattern"}, "not a kebab-case name", id="name"),
        pytest.param({"fix_safety": None}, "`fix_safety` must be a text", id="no word on the fix"),
        pytest.param({"severity": "fatal"}, "not a severity", id="severity"),
        pytest.param({"evidence": None}, "`evidence` must be a text", id="no evidence"),
        pytest.param({"bad": " \n"}, "`bad` must be a text", id="blank example"),
    ],
)
def test_a_wrong_rule_fails_at_import(changes, message):
    with pytest.raises(TypeError, match=message):
        make(**changes)


def test_the_code_tells_the_category():
    assert make(code="KL201").category == "tiling"
    assert all(type(rule).__module__.split(".")[-2] == rule.category for rule in registry.all_rules())


def test_a_remark_is_no_refusal():
    """Of a refusal it is said that the launch fails."""
    assert not [rule.code for rule in registry.all_rules() if rule.refused and rule.severity == "info"]


def test_what_is_written_anew_is_said_of_its_fix():
    assert make(operator="generate", fix_safety=None).fix_safety == WRITTEN_ANEW
    assert make(operator="generate").fix_safety == "Safe."


def test_docs_have_the_fixed_headings():
    page = to_markdown(make(references=("https://example.org",)))
    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        "What it does",
        "Why it is slow",
        "Example",
        "Use instead",
        "When it does not apply",
        "Fix safety",
        "Evidence",
        "References",
    ]
    assert "```python\nx = 1\n```" in page


def test_docs_of_a_correctness_rule_say_wrong():
    assert "## Why it is wrong" in to_markdown(make(code="KL701"))


def test_finds_rules_by_code_and_name(monkeypatch):
    rule = make()()
    monkeypatch.setattr(registry, "all_rules", lambda: (rule,))
    assert registry.find_rule("kl101") is rule
    assert registry.find_rule("Some-Bad-Pattern") is rule
    with pytest.raises(UsageError, match="did you mean some-bad-pattern"):
        registry.find_rule("some-bad-patern")
    with pytest.raises(UsageError, match="lists all"):
        registry.find_rule("entirely different")


def test_discovers_what_a_module_defines_and_nothing_it_imports():
    module = ModuleType("kernlint.rules.precision.example")
    rule = make(__module__=module.__name__)
    module.Example, module.Rule, module.other = rule, Rule, make(__module__="elsewhere")
    assert registry.rules_in(module) == [rule]


def test_two_rules_of_one_code_are_refused(monkeypatch):
    monkeypatch.setattr(registry, "_modules", lambda category: [sys] if category == "precision" else [])
    monkeypatch.setattr(registry, "rules_in", lambda _: [make(), make(name="another")])
    registry.all_rules.cache_clear()
    try:
        with pytest.raises(TypeError, match="both called KL101"):
            registry.all_rules()
    finally:
        registry.all_rules.cache_clear()


def test_every_category_has_a_folder():
    from importlib import import_module

    for category in CATEGORIES:
        assert import_module(f"kernlint.rules.{category}").__doc__


def test_rules_are_in_order_of_their_codes():
    codes = [rule.code for rule in registry.all_rules()]
    assert codes == sorted(set(codes))


def test_an_alias_of_a_type_is_no_rule():
    module = ModuleType("kernlint.rules.precision.kl199_aliases")
    module.Pairs = list[tuple[int, str]]  # which Python 3.10 takes for a class
    assert registry.rules_in(module) == []
