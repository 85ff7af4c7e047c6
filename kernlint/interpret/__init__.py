"""Programs on abstract values: from source to workloads, without running any of it.

Imports flow in this direction, and a test holds them to it: `values`, `edits` and `trace`, which all share; `python`, the language;
kernels and Triton's front end; `torch`; `host`, which launches kernels and calls torch; then `program`, which finds entries and
arguments, and `project` and `recorded`, two other ways to come by calls.
"""
