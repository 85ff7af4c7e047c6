from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.kernel_source import kernels_once
from kernlint.workload import Access, Atomic, Compute, Dot, Expr, Kernel, Lane, Launch, Symbol

#: What a size must be a multiple of for Triton to specialise on it.
_ALIGNED = 16


class UnalignedBound(Rule):
    code = "KL307"
    name = "unaligned-bound"
    severity = "info"
    silent_if_open = True
    bare = True
    summary = "do_not_specialize on a size that bounds or strides the contiguous axis, which forbids vector loads"
    what_it_does = """
        Finds parameters in `do_not_specialize` (or `..._on_alignment`) that bound the mask of an access along the axis on which
        its addresses are contiguous, or that stride the rows of such an access.
        """
    why = """
        Triton loads 16 bytes per thread when it can prove that a whole vector lies inside the mask and starts at an aligned
        address. The proof comes from knowing that the size is divisible by 16, which it learns by specialising on it. Without,
        every element is loaded by itself.
        """
    when_not = """
        Rows whose stride is a product with another size that is specialised on: that one aligns them. Vectors beside the tiles
        that a kernel is about. Launches of one program. Kernels that work on indices and lengths. Bounds of another axis and
        guards on whole programs. Kernels that handle full tiles without a mask on a path of their own.
        """
    fix_safety = "Safe: up to three compiled variants (1, divisible by 16, other) in the place of one."
    evidence = """
        Triton 3.9, sm_90, fp16 tiles of 1,024: a bound known to be divisible by 16 gives v4.b32 accesses, one of unknown
        divisibility eight b16 each (the row's compile check). Pattern row PERF-038.
        """

    good = elementwise("double", "{} * 2.0")
    bad = good.replace("@triton.jit", '@triton.jit(do_not_specialize=["n"])')
    launch = "double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    inputs = "torch.randn(1024, 1024, dtype=torch.float16)"
    example = '@triton.jit(do_not_specialize=["n"])'
    use_instead = "@triton.jit"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in kernels_once(context):
            kernel = launch.kernel
            # A single program moves too little for its vectors to matter.
            wide = launch.unspecialised and launch.programs != 1
            reading = context.program.open_kernel(kernel) if wide else None
            if reading is None or not _moves_data(launch, reading):
                continue
            slow = {
                name: access
                for name in sorted(launch.unspecialised)
                if (access := next(_bounded_by(reading, name, launch.unspecialised), None)) is not None
            }
            if slow:
                yield self._finding(kernel, slow)

    def _finding(self, kernel: Kernel, slow: Mapping[str, Access]) -> Finding:
        """What is to be said of the parameters of ``kernel`` that ``slow`` names, each with an access that it slows."""
        names = ", ".join(f"`{name}`" for name in slow)
        verbs = (
            "bounds or strides a contiguous access but is"
            if len(slow) == 1
            else "bound or stride contiguous accesses but are"
        )
        return self.finding(
            f"{names} of `{kernel.name}` {verbs} not specialised on",
            kernel.name_span,
            kernel.name,
            (
                Evidence(f"{names}: listed in do_not_specialize", kernel.name_span),
                *(
                    Evidence(f"the access to `{access.base}` is contiguous and depends on `{name}`", access.span)
                    for name, access in slow.items()
                ),
            ),
            Change(
                None,
                f"Triton may not learn that {names} can be divided by 16, so it loads and stores element by element where it "
                "could move 16 bytes at a time.",
                f"Let Triton specialise on {names}.",
                f"Drop {names} from the list of the decorator of `{kernel.name}`, or handle whole tiles on a path without a mask.",
                priced=False,
            ),
        )


def _moves_data(launch: Launch, reading: Kernel) -> bool:
    """Whether the kernel works on floating-point data, unless its text and the tensors of ``launch`` tell otherwise: indices
    and lengths are too few for their vectors to matter."""
    computed = any(
        isinstance(node, Dot)
        or (isinstance(node, Compute) and node.kind in ("cast", "special") and node.dtype.is_float)
        for node in reading.nodes((Dot, Compute))
    )
    tensors = [launch.tensor(node.base) for node in launch.kernel.nodes(Access)]
    given = [tensor.dtype for tensor in tensors if tensor is not None and tensor.dtype is not None]
    return computed or not given or any(dtype.is_float for dtype in given)


def _bounded_by(kernel: Kernel, name: str, free: frozenset[str]) -> Iterator[Access]:
    """The accesses of an open reading of ``kernel`` whose contiguous axis the parameter ``name`` bounds or whose rows it
    strides; ``free`` are all parameters that Triton may not specialise on. None where the kernel also reaches the same tensor
    without a mask (its full tiles are fast), nor a tile of fewer axes than the kernel's largest: a vector of statistics beside
    the rows that it is about."""
    size = Symbol(name)
    found = [node for node in kernel.nodes(Access) if not isinstance(node, Atomic)]
    unmasked = {access.base for access in found if access.mask is None}
    most = max((_axes(access) for access in found), default=0)
    for access in found:
        axis = next(
            (dim for dim in range(len(access.shape)) if access.shape[dim] > 1 and access.stride(dim) == 1), None
        )
        if axis is None or access.offset is None or access.base in unmasked or _axes(access) < most:
            continue
        bound = any(right == Expr.atom(size) and Lane(axis) in left.atoms() for left, right in access.mask or ())
        if bound or _misaligns(access.offset.coefficient(size), Lane(axis), free):
            yield access


def _axes(access: Access) -> int:
    """Axes of the tile along which it has more than one element."""
    return sum(extent > 1 for extent in access.shape)


def _misaligns(slope: Expr | None, lane: Lane, free: frozenset[str]) -> bool:
    """Whether rows that a size strides by ``slope`` begin at addresses that only this size could align: not where each term
    has a factor of 16, or a parameter that Triton specialises on and may know to be one."""
    if slope is None or lane in slope.atoms():
        return False
    return any(
        count % _ALIGNED and not any(isinstance(atom, Symbol) and atom.name not in free for atom in factors)
        for factors, count in slope.terms.items()
    )
