from __future__ import annotations

from collections.abc import Iterable

from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.model import SECTOR_BYTES
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant, tensor_name
from kernlint.rules.proofs.operand_packing import Packed, Scattered, scattered_operands
from kernlint.rules.proofs.pricing import LEAST_GAIN, gain
from kernlint.workload import Launch, concrete

#: How often each element has to be read, in the mean, for a copy that reads it once.
_LEAST_READS = 4


class ScatteredOperand(Rule):
    code = "KL312"
    name = "scattered-operand"
    summary = "every element of a tl.dot operand is in a sector of its own"
    what_it_does = """
        Finds operands of `tl.dot` that are loaded from a contiguous tensor whose last dimensions are not those of the tile, so
        that neighbours along both axes of the tile lie 32 bytes or more apart: one filter tap of convolution weights
        `[O, C, KH, KW]`, one head or one step of a tensor that has these last. It is reported where a permuted copy on each call
        is predicted to pay.
        """
    why = """
        Each element takes a sector (and a line of the cache) of its own, which holds seven or more elements of other taps; a
        warp's load is as many requests as lanes. Weights are small and are read again by every program: permuted once, so that
        the axes of the tile are the last two dimensions, their tiles are rows of neighbours.
        """
    when_not = "Tensors that are read once: the copy reads them as badly."
    fix_safety = "Safe: the same values in the same order of summation. The copy is for each call unless it is kept."
    evidence = """
        H100: what one request of scattered elements costs is the model's term for lines, fitted to narrow rows of dots
        (`calibration/facts/h100-micro.csv`). No time of our own for weights of a convolution.
        """

    bad = """
        @triton.jit
        def conv1d(x, w, y, C, O, T, TAPS: tl.constexpr, BO: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
            t = tl.program_id(0) * BT + tl.arange(0, BT)
            o = tl.program_id(1) * BO + tl.arange(0, BO)
            n = tl.program_id(2)
            acc = tl.zeros((BO, BT), tl.float32)
            for tap in range(TAPS):
                for start in range(0, C, BC):
                    c = start + tl.arange(0, BC)
                    i = t + tap - TAPS // 2
                    live = (i >= 0) & (i < T)
                    a = tl.load(w + o[:, None] * C * TAPS + c[None, :] * TAPS + tap)
                    b = tl.load(x + (n * C + c[:, None]) * T + i[None, :], mask=live[None, :], other=0.0)
                    acc = tl.dot(a, b, acc)
            tl.store(y + (n * O + o[:, None]) * T + t[None, :], acc.to(tl.float16), mask=(t < T)[None, :])

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(256, 256, 31, dtype=torch.float16))

            def forward(self, x):
                N, C, T = x.shape
                y = torch.empty(N, 256, T, device=x.device, dtype=x.dtype)
                conv1d[(triton.cdiv(T, 64), 4, N)](x, self.w, y, C, 256, T, TAPS=31, BO=64, BT=64, BC=32)
                return y

        def get_inputs():
            return [torch.randn(16, 256, 8192, dtype=torch.float16)]
        """
    good = (
        bad.replace("o[:, None] * C * TAPS + c[None, :] * TAPS + tap", "tap * O * C + o[:, None] * C + c[None, :]")
        .replace("conv1d[(", "w = self.w.permute(2, 0, 1).contiguous()\n                conv1d[(")
        .replace("(x, self.w, y", "(x, w, y")
    )
    example = "a = tl.load(w + o[:, None] * C * TAPS + c[None, :] * TAPS + tap)  # w: [O, C, TAPS]"
    use_instead = "a = tl.load(w + tap * O * C + o[:, None] * C + c[None, :])  # w.permute(2, 0, 1).contiguous()"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for found in scattered_operands(launch):
                if found.load.span in seen or _times_read(launch, found) < _LEAST_READS:
                    continue
                seen.add(found.load.span)
                variant = context.variant.then(transform=Packed(launch.span, found.load.span))
                expected = gain(context, variant)
                if expected is not None and expected >= LEAST_GAIN:
                    yield self._finding(launch, found, variant)

    def _finding(self, launch: Launch, found: Scattered, variant: Variant) -> Finding:
        load, kernel = found.load, launch.kernel.name
        name, size = tensor_name(found.tensor, load.base), load.dtype.bytes
        apart = sorted(abs(concrete(s) or 0) * size for s in (found.operand.k_stride, found.operand.other_stride))
        order = ", ".join(map(str, found.order))
        rows, columns = load.shape
        return self.finding(
            f"`{kernel}` loads tiles of `{name}` whose neighbours are {apart[0]} and {apart[1]} bytes apart",
            load.span,
            kernel,
            (
                Evidence(
                    f"a {rows}x{columns} tile of {load.dtype} is {rows * columns:,} sectors of {SECTOR_BYTES} bytes",
                    load.span,
                ),
                Evidence(f"it is an operand of this {found.dot.m}x{found.dot.n}x{found.dot.k} product", found.dot.span),
            ),
            Change(
                variant,
                f"Each element of the tiles of `{name}` takes a sector of its own, {SECTOR_BYTES // size} times the bytes that are used, "
                "and a request of its own.",
                f"Permute `{name}` once, so that the axes of the tile are its last dimensions.",
                f"Pass `{name}.permute({order}).contiguous()` (kept beside the parameter where it does not change) and address the tile "
                f"at line {load.span.line} with its strides; its last dimension, and with it the lanes, are then contiguous.",
            ),
        )


def _times_read(launch: Launch, found: Scattered) -> float:
    """How often the grid reads each element of the tensor through this load, in the mean."""
    moved = traffic(launch)
    read = sum(one.access.elements * one.executions for one in moved.accesses if one.access.id == found.load.id)
    return read * moved.programs / max(1, found.tensor.numel or 1)
