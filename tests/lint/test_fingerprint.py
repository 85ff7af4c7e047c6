"""Fingerprints stay when lines move and tell apart what is alike."""

import pytest
from support.lint import CODE, DOT, KERNEL, check

from kernlint.lint.fingerprint import normalise


def prints(source: str) -> list[str]:
    return [finding.fingerprint for finding in check(source) if finding.code == CODE]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: "\n\n# moved\n" + s,
        lambda s: s.replace(DOT, f"{DOT}  # a comment"),
        lambda s: s.replace("a.to(tl.float32)", "a.to(  tl.float32  )"),
        lambda s: s.replace("a.to(tl.float32)", "a.to(  # why\n            tl.float32,\n        )"),
        lambda s: s + "\n\ndef other():\n    pass\n",
    ],
    ids=["moved", "comment", "spaces", "comment inside", "code elsewhere"],
)
def test_unchanged(change):
    assert len(prints(KERNEL)) == 1
    assert prints(change(KERNEL)) == prints(KERNEL)


def test_alike_findings_differ():
    twice = KERNEL.replace(DOT, f"{DOT}\n{DOT}")
    found = prints(twice)
    assert len(found) == 2
    assert len(set(found)) == 2
    assert prints(KERNEL)[0] == found[0]


def test_another_kernel_is_another_finding():
    assert prints(KERNEL.replace("product", "matmul")) != prints(KERNEL)


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("a  +\n  b", "a+b"),
        ("if  a :", "if a:"),
        ("f(\n    a,\n)", "f(a)"),
        ("a  # b", "a"),
        ("'# not one'  # one", "'# not one'"),
        ('"""# no\n# no"""  # one', '"""# no\n# no"""'),
        (r"'\'# no'  # one", r"'\'# no'"),
        ("a ' b", "a'b"),
    ],
)
def test_normalise(source, bare):
    assert normalise(source) == bare
