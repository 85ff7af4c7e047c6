"""Triton's front end on types alone: what the compiler refuses of a kernel before it makes code of it.

`faults` notes what is refused, `arithmetic` types operators, and `evaluator` walks a kernel: each a class on top of the one before.
`names`, `attributes`, `calls`, `branches` and `loops` are functions that it calls, and `language` the types of the functions of
`triton.language`. `check` is what everybody else asks, and is imported only where a release is asked about.
"""
