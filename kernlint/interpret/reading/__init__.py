"""One pass over a program: its modules, the arguments of its entries, their calls, down to workloads.

`modules`, `arguments`, `calls`, `models`, `kernels` and `entries` are classes, each on top of the one before; `entries.Reading` is what
everybody else asks. `effects` and `launching` are what is known of a function without following it.
"""
