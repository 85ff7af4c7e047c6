"""KL220: which tiles count as one tile for all sizes."""

from support.findings import run_rule

from kernlint.rules.registry import find_rule

BAD = find_rule("KL220").bad


def chosen(body):
    """The bad example with the tile that ``tile(m)`` gives."""
    assert "BM, BN = 16, 16" in BAD
    start = BAD.index("        @triton.jit")
    function = f"        def tile(m):\n{body}\n"
    return BAD[:start] + function + BAD[start:].replace("BM, BN = 16, 16", "BM, BN = tile(M)")


def test_a_tile_that_a_function_returns():
    assert run_rule("KL220", chosen("            return 16, 16\n"))


def test_a_tile_that_the_size_chooses_is_not_one_for_all():
    body = "            if m >= 256:\n                return 128, 128\n            return 16, 16\n"
    assert not run_rule("KL220", chosen(body))
