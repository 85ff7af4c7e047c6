"""Workloads of calls that were traced: what a child process reported of a program on fake tensors, in the terms of the analysis.

`recording` is what it reported. `places`, `tensors`, `launches` and `replay` are classes, each on top of the one before, that make a
workload of it; `program` answers with that where the source does not tell, and `agreement` says where the two differ. `aten` and
`loops` are tables and folds that know no program.
"""
