import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.verdict.speedup import format_speedup, round_ratio, round_us


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        pytest.param(1.3, 1.4, "30-40%", id="percent is speedup minus one"),
        pytest.param(3.9, 5.6, "3.9-5.6x", id="factor"),
        pytest.param(1.5, 1.99, "50-99%", id="below two"),
        pytest.param(1.5, 2.0, "1.5-2.0x", id="factor once high reaches two"),
        pytest.param(0.9, 1.1, "0-10%", id="low is never below nothing"),
        pytest.param(0.8, 2.5, "1.0-2.5x", id="nor is it in a factor"),
        pytest.param(0.5, 0.9, "0%", id="a loss"),
        pytest.param(1.301, 1.304, "30%", id="both ends read alike"),
        pytest.param(9.97, 14.2, "10-14x", id="no decimals from ten on"),
        pytest.param(8.0, 14.2, "8.0-14x", id="below ten and above"),
        pytest.param(5.6, 3.9, "3.9-5.6x", id="ends in the other order"),
        pytest.param(None, 2.0, "", id="no lower end"),
        pytest.param(2.0, None, "", id="no upper end"),
    ],
)
def test_format_speedup(low, high, text):
    assert format_speedup(low, high) == text


@settings(deadline=None)
@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_every_interval_fits_the_schema(low, high):
    import re

    from kernlint.schema import load

    pattern = load("verdict")["properties"]["expected_speedup"]["pattern"]
    assert re.search(pattern, format_speedup(low, high))


def test_rounding():
    assert round_us(63.126) == 63.13
    assert round_us(None) is None
    assert round_ratio(4.92917) == 4.93
    assert round_ratio(0.012345) == 0.0123
    assert round_ratio(1234.5) == 1230.0
    assert round_ratio(None) is None
