"""Rows of bug-patterns.jsonl that have no rule, each with the reason why source does not decide them."""

REASONS: dict[str, str] = {
    "BUG-044": (
        "`//` and `%` of an integer that may be negative: dimension algebra on non-negative integers is 95 % of all uses, and "
        "whether a difference goes below zero mostly rests on values of the caller that no source shows. A rule that fires on "
        "every difference would be wrong nine times of ten."
    ),
    "BUG-059": (
        "what a public wrapper may be handed is its contract, which stands in its documentation or in its callers, not in its "
        "source: a check that is missing here may stand in the dispatcher in front of it. Nearly every wrapper of the public "
        "packages would be reported."
    ),
    "BUG-067": (
        "`tl.maximum` drops a NaN, and whether it should pass is intent: a ReLU that stands for torch's must pass it, the guard "
        "of a denominator and the running maximum of attention must not. The source of the kernel is the same for both."
    ),
    "BUG-080": (
        "a loop that runs an in-place kernel on the same buffer is what iterative methods, optimisers and recurrences do; that "
        "the loop is a benchmark or a test, which wants each run to start alike, is intent. Tuning, which also repeats the "
        "kernel, is KL752."
    ),
}
