"""Programs on abstract values: from source to workloads, without running any of it.

Imports flow in this direction, and a test holds them to it: `values`, `edits` and `trace`, which all share; `python`, the language;
`triton`, kernels on tiles, and `frontend`, what the compiler refuses of them; `torch`, functions and layers; `host`, which calls torch
and launches kernels; `reading`, which finds entries and makes their arguments; `program`, which reads as often as what-ifs need; and
`project` and `recorded`, two other ways to come by calls.
"""
