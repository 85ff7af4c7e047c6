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


def launched_by_helper(others):
    """The bad example with a function that launches what it is given, and with what calls that too."""
    helper = """
        def start(*args, **kwargs):
            matmul[args[0]](*args[1:], **kwargs)
"""
    source = BAD.replace("matmul[grid](", "start(grid, ")
    assert source != BAD
    return source.replace("        def linear", f"{helper}{others}\n        def linear")


def test_a_tile_in_the_one_call_of_what_launches_it():
    assert run_rule("KL220", launched_by_helper(""))


def test_a_tile_in_one_of_two_calls_of_what_launches_it_is_a_choice():
    other = """
        def large(a, b, c, M, N, K):
            start((triton.cdiv(M, 128), triton.cdiv(N, 128)), a, b, c, M, N, K, 128, 128, BK=64)
"""
    assert not run_rule("KL220", launched_by_helper(other))


def test_a_tile_that_a_function_returns():
    assert run_rule("KL220", chosen("            return 16, 16\n"))


def test_a_tile_that_the_size_chooses_is_not_one_for_all():
    body = "            if m >= 256:\n                return 128, 128\n            return 16, 16\n"
    assert not run_rule("KL220", chosen(body))


def test_a_launch_that_other_tiles_leave_without_work():
    """The tiles beyond full waves are another launch's, as in Stream-K: with large tiles none is left for this one."""
    grid = "grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN) // 4096 * 4096,)"
    start = BAD.index("            grid = ")
    end = BAD.index("\n", start)
    source = BAD[:start] + f"            {grid}" + BAD[end:]
    assert not run_rule("KL220", source)


def test_literals_of_the_grid_change_with_the_tile():
    """With a grid that stays as it was every larger tile would only compute the same results again."""
    written = BAD.replace("triton.cdiv(M, BM), triton.cdiv(N, BN)", "triton.cdiv(M, 16), triton.cdiv(N, 16)")
    assert written != BAD
    methods = [run_rule("KL220", source).only().change.method for source in (BAD, written)]
    assert methods[0] == methods[1]
