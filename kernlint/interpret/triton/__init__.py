"""Kernels on abstract tiles: what each program of a launch loads, computes and stores.

`recording` notes what a kernel does, `arithmetic` is Python's operators on tiles, and `evaluator` runs a body: each a class on top of
the one before. `branches`, `loops` and `builtins` are functions that it calls, and `language` what each function of `triton.language`
does. `values`, `tiles`, `widths`, `masked_lanes`, `numerics` and `conditions` say what a tile is and what is known of its lanes.
`reading` is what everybody else asks: the kernel of one launch.
"""
