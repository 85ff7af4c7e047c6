"""Rows of bug-patterns.jsonl that have no rule, each with the reason why source does not decide them."""

REASONS: dict[str, str] = {
    "BUG-044": (
        "`//` and `%` of an integer that may be negative: dimension algebra on non-negative integers is 95 % of all uses, and "
        "whether a difference goes below zero mostly rests on values of the caller that no source shows. A rule that fires on "
        "every difference would be wrong nine times of ten."
    ),
}
