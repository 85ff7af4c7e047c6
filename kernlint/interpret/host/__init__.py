"""Host code on abstract values, down to the torch calls and kernel launches that it makes.

`recording` notes the device work, `state` what is known of tensors and sizes, `operators` Python's operators on them, and
`evaluator` is what runs a program: each a class on top of the one before. What a kind of code does is a module of functions that
the evaluator calls: `objects`, `autograd`, `builtins`, `library`, `modules`, `branches`, `loops`, `tuners`, `launches`, `kernels`.
Imports flow from `evaluator` down; no module imports the evaluator but to name its type.
"""
