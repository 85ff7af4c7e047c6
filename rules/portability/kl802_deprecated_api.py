from kernlint.rules.base import mapped
from kernlint.rules.faults import FaultRule


class DeprecatedApi(FaultRule):
    code = "KL802"
    name = "deprecated-api"
    severity = "info"
    summary = "a function, parameter or form that the target release of Triton warns about"
    kinds = frozenset(["boolean-on-block", "deprecated-name", "deprecated-parameter", "where-condition"])
    if_certain = frozenset(["boolean-on-block", "where-condition"])
    methods = (
        ("deprecated-name", "Use the name that takes its place."),
        ("deprecated-parameter", "Use what the message names; the old parameter will be removed."),
        ("boolean-on-block", "Use `&` and `|`, each operand in parentheses."),
        ("where-condition", "Compare the condition with 0."),
    )

    what_it_does = """
        Finds names and parameters that the target release still has but deprecates: `tl.view`, `allow_tf32` of
        `tl.dot`, `can_reorder`, block pointers in 3.7 and 3.8, conditions of `tl.where` that are no booleans, `and`
        and `or` on blocks.
        """
    why = """
        They work today and go in a later release; `can_reorder` is announced to go in 3.10.
        """
    when_not = """
        Targets before the deprecation: name one with `--target-triton`.
        """
    fix_safety = """
        Safe: `tl.view` becomes `tl.reshape`, `allow_tf32` an `input_precision`, `can_reorder` goes, `and` and `or`
        become `&` and `|`, a condition of `tl.where` is compared with zero. Refused where the value is neither a
        literal nor a constexpr of the kernel.
        """
    evidence = """
        Warnings in the sources of Triton 3.2 to 3.9; `triton_changes.json` holds release, replacement and reference
        of each. Pattern row BUG-073.
        """

    bad = mapped("v").replace("y + i, v, mask=i < n", "(y + i)[None, :], tl.view(v, [1, BLOCK])")
    good = bad.replace("tl.view", "tl.reshape")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "tl.view(v, [1, BLOCK])"
    use_instead = "tl.reshape(v, [1, BLOCK])"
