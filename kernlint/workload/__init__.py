"""The model that every later stage reads: plain frozen data, no syntax, no cost, no opinion."""

from kernlint.workload.access import Access, Atomic, Cast, Load, Store
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import Expr, Lane, LoopIndex, Opaque, ProgramId, Size, Symbol, concrete
from kernlint.workload.fault import Fault
from kernlint.workload.kernel import Branch, Compute, Dot, Kernel, Loop, Node, Operand, Reduce, Scan
from kernlint.workload.span import Span
from kernlint.workload.steps import (
    Call,
    Collected,
    HostSync,
    Launch,
    Repeat,
    Step,
    TorchOp,
    Tuning,
    Workload,
)
from kernlint.workload.tensor import Storage, Tensor

__all__ = [
    "Access", "Atomic", "Branch", "Call", "Cast", "Collected", "Compute", "Dot", "Dtype", "Expr", "Fault", "HostSync",
    "Kernel", "Lane", "Launch", "Load", "Loop", "LoopIndex", "Node", "Opaque", "Operand", "ProgramId", "Reduce",
    "Repeat", "Scan", "Size", "Span", "Step", "Storage", "Store", "Symbol", "Tensor", "TorchOp", "Tuning", "Workload",
    "concrete",
]  # fmt: skip
