"""What the configuration can set for rules is what they go by."""

from __future__ import annotations

from inspect import cleandoc

import pytest
from support.lint import check

from kernlint.rules.docs import to_markdown
from kernlint.rules.registry import all_rules, find_rule

OPTIONS = [(rule.code, option.name) for rule in all_rules() for option in rule.options]


@pytest.mark.parametrize(("code", "name"), OPTIONS)
def test_an_option_decides_about_the_example(code: str, name: str) -> None:
    bad = cleandoc(find_rule(code).bad).replace("tl.static_range(T)", "tl.static_range(512)")
    asked = {"codes": {code}, "asked": frozenset({code})}
    assert [f.code for f in check(bad, **asked)] == [code]
    assert not check(bad, **asked, options={(code, name): 1_000})
    assert check(bad, **asked, options={(code, "of another rule"): 1_000})


@pytest.mark.parametrize(("code", "name"), OPTIONS)
def test_options_are_documented(code: str, name: str) -> None:
    page = to_markdown(find_rule(code))
    assert f"## Options\n\n- `{name}` (default " in page


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_names_and_defaults_make_sense(rule) -> None:  # type: ignore[no-untyped-def]
    names = [option.name for option in rule.configurable()]
    assert len(set(names)) == len(names)
    assert all(option.least <= option.default and option.meaning.endswith(".") for option in rule.configurable())
