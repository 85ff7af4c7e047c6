"""Python itself on abstract values: the language that host code and kernels are both written in.

`operators` and `methods` are functions on plain values, `control` is how the flow leaves a block. `environment`, `expressions` and
`evaluator`, each a class on top of the one before, are what every other evaluator derives from.
"""
