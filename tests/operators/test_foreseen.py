"""What tiles would take, told without reading the program again."""

import dataclasses

from gemm_launches import gemm

from kernlint.cost.device import find_device
from kernlint.operators.product_tiles import foreseen_for
from kernlint.rules.proofs.dot_tiles import Tile

H100 = find_device("h100")
LARGE = gemm(4096, 4096, 4096, tile=(64, 64, 32), warps=4, stages=3)
SMALL = gemm(100, 100, 256, tile=(128, 256, 64), warps=8, stages=3)
OTHER = Tile(128, 128, 64, 8, 3)


def test_a_small_launch_of_which_nothing_is_told_takes_what_it_takes_now():
    alone, both = foreseen_for([(LARGE, 1.0)], H100), foreseen_for([(LARGE, 1.0), (SMALL, 1.0)], H100)
    assert alone is not None and both is not None
    assert both.others > 0 and both.us(OTHER) == alone.us(OTHER) + both.others
    assert both.now_us == alone.now_us + both.others


def test_nothing_is_foreseen_where_most_of_the_time_is_not_told():
    assert foreseen_for([(SMALL, 1.0)], H100) is None
    assert foreseen_for([(LARGE, 1.0), (SMALL, 1e6)], H100) is None


def test_of_many_launches_less_is_in_doubt_than_of_one():
    sizes = [gemm(n, n, 4096, tile=(64, 64, 32), warps=4, stages=3) for n in (1024, 2048, 3072, 4096)]
    one, many = foreseen_for([(sizes[0], 1.0)], H100), foreseen_for([(size, 1.0) for size in sizes], H100)
    assert one is not None and many is not None
    assert 1.0 < many.reach < one.reach
    assert foreseen_for([(dataclasses.replace(sizes[0]), 4.0)], H100).reach == one.reach
