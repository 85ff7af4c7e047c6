"""Which rules run: selectors, their order and their mistakes."""

import pytest

from kernlint.errors import UsageError
from kernlint.lint.selection import Choice, catalogue, parse_selector, selected_codes
from kernlint.rules.registry import all_rules

RULES = frozenset(rule.code for rule in all_rules())
ON = frozenset(rule.code for rule in all_rules() if rule.default)
OWN = frozenset(entry.code for entry in catalogue() if entry.category == "diagnostic")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("KL101", {"KL101"}),
        ("kl101", {"KL101"}),
        ("int8-upcast-before-dot", {"KL101"}),
        (" Int8-Upcast-Before-Dot ", {"KL101"}),
        ("KL1", {code for code in RULES if code.startswith("KL1")}),
        ("KL", RULES | OWN),
        ("ALL", RULES | OWN),
        ("all", RULES | OWN),
        ("precision", {code for code in RULES if code.startswith("KL1")}),
        ("diagnostic", OWN),
    ],
)
def test_selectors(text, codes):
    assert parse_selector(text).codes == codes


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("KL110", "did you mean KL"),
        ("int8-upcast-before", "did you mean int8-upcast-before-dot"),
        ("precison", "did you mean precision"),
        ("zebra", "`kernlint rules` lists all"),
        ("", "`kernlint rules` lists all"),
    ],
)
def test_an_unknown_one_is_an_error_with_a_hint(text, hint):
    with pytest.raises(UsageError, match="unknown rule selector") as error:
        parse_selector(text)
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("choices", "codes"),
    [
        ([], ON | OWN),
        ([Choice(select=("KL101",))], {"KL101"} | OWN),
        ([Choice(select=())], OWN),
        ([Choice(ignore=("KL1",))], {c for c in ON if not c.startswith("KL1")} | OWN),
        ([Choice(select=("KL1",), ignore=("KL101",))], {c for c in RULES if c[:3] == "KL1" and c != "KL101"} | OWN),
        ([Choice(select=("KL101",), ignore=("KL1",))], {"KL101"} | OWN),
        ([Choice(select=("KL101",), ignore=("KL101",))], OWN),
        ([Choice(extend_select=("KL101",), ignore=("ALL",))], {"KL101"}),
        ([Choice(select=("KL101",)), Choice(extend_select=("KL2",))],
         {"KL101"} | {c for c in RULES if c[:3] == "KL2"} | OWN),
        ([Choice(ignore=("KL101",)), Choice(select=("KL1",))], {c for c in RULES if c[:3] == "KL1"} | OWN),
        ([Choice(select=("KL101", "KL305")), Choice(ignore=("KL305",))], {"KL101"} | OWN),
        ([Choice(ignore=("KL911",))], (ON | OWN) - {"KL911"}),
    ],
    ids=["default", "select", "nothing", "ignore", "select wide, ignore narrow", "select narrow, ignore wide", "tie",
         "all but one", "command line adds", "command line selects anew", "command line ignores", "a diagnostic"],
)  # fmt: skip
def test_choices(choices, codes):
    assert selected_codes(choices) == codes
