"""Whatever the bytes, a file ends in findings, nothing, or one diagnostic."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.lint import CODE, KERNEL, check

_LINES = KERNEL.splitlines(keepends=True)
_PIECES = ["(", ")", "[", '"', "'''", "\\", "\n", "\t", "\f", "\0", "=", "# kernlint: ignore[", "]", "lambda:", "é"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, len(KERNEL)), st.sampled_from(_PIECES)), min_size=1, max_size=3))
def test_pieces_put_anywhere(pieces):
    source = KERNEL
    for place, piece in pieces:
        source = source[:place] + piece + source[place:]
    _ends_well(check(source))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, len(_LINES) - 1), min_size=1, max_size=4))
def test_lines_left_out(numbers):
    _ends_well(check("".join(line for number, line in enumerate(_LINES) if number not in numbers)))


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["k.py", "n.ipynb", "p.md"]))
def test_any_bytes(data, name):
    _ends_well(check(b"# triton jit\n" + data, name))


def _ends_well(findings):
    codes = [finding.code for finding in findings]
    assert not [f for f in findings if "internal error" in f.message], findings
    assert sum(code.startswith("KL90") for code in codes) <= 1
    assert set(codes) <= {CODE, "KL901", "KL902", "KL903", "KL911", "KL912"}
