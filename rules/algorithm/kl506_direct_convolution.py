from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.convolution import Convolution, convolution
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import concrete


class DirectConvolutionLoops(Rule):
    code = "KL506"
    name = "direct-convolution"
    operator = "generate"
    summary = "a convolution does one multiply-add per loaded value, without tensor cores"
    what_it_does = """
        Finds kernels whose nested loops load shifted windows of an input and multiply each with a scalar weight, for one output
        channel a program. Read from the offsets: which loop shifts the window, which moves the weight, and that the output channel
        moves only the weight.
        """
    why = """
        Every output channel loads the same windows again, and each loaded value is used once, on the FMA units. As an implicit
        GEMM (output channels by pixels, summed over input channels x taps) a gathered tile of windows feeds a `tl.dot` for many
        output channels at once.
        """
    when_not = "Depthwise and grouped convolutions, whose channels share no input. Fewer than four output channels."
    evidence = """
        H100, fp16, batch 8, 32 to 32 channels, 56 x 56, 3 x 3: 97.9 us directly in blocks of 256 pixels, 17.8 us as an implicit GEMM
        with tile 64x32x32 (`calibration/facts/h100-micro-2.csv`, direct_conv and implicit_gemm_conv). Pattern row PERF-073.
        """

    bad = """
        @triton.jit
        def conv1d(x, w, y, C, O, T, TAPS: tl.constexpr, BLOCK: tl.constexpr):
            t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            o = tl.program_id(1)
            n = tl.program_id(2)
            acc = tl.zeros((BLOCK,), tl.float32)
            for c in range(C):
                for k in range(TAPS):
                    a = tl.load(x + (n * C + c) * T + t + k - TAPS // 2, mask=(t + k >= TAPS // 2) & (t + k - TAPS // 2 < T), other=0.0)
                    acc += a.to(tl.float32) * tl.load(w + (o * C + c) * TAPS + k).to(tl.float32)
            tl.store(y + (n * O + o) * T + t, acc.to(tl.float16), mask=t < T)

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(128, 64, 5, dtype=torch.float16))

            def forward(self, x):
                N, C, T = x.shape
                y = torch.empty(N, 128, T, device=x.device, dtype=x.dtype)
                conv1d[(triton.cdiv(T, 256), 128, N)](x, self.w, y, C, 128, T, TAPS=5, BLOCK=256)
                return y

        def get_inputs():
            return [torch.randn(16, 64, 4096, dtype=torch.float16)]
        """
    good = bad.replace("(n * C + c) * T + t", "(n * O + o) * T + t").replace("for c in range(C):", "for c in range(1):")
    example = "for c, kh, kw: acc += load(x + window(c, kh, kw)) * load(w + tap)"
    use_instead = "for k in range(0, C * KH * KW, BK): acc = tl.dot(weights, gathered_windows, acc)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            found = convolution(launch) if launch.span not in seen else None
            if found is not None and len(found.loops) + (found.unrolled > 1) > 1:  # one loop walks over no windows
                seen.add(launch.span)
                yield from (self._finding(found, cause) for cause in causes_at(context, launch.kernel.name))

    def _finding(self, found: Convolution, cause: Cause | None) -> Finding:
        launch = found.launch
        kernel = launch.kernel.name
        x, w = found.x, found.w
        source, weight = tensor_name(found.source, x.base), tensor_name(found.weight, w.base)
        pixels = found.plane * found.images
        trips = [concrete(loop.trip) or 1 for loop in found.loops]
        extents = " x ".join(map(str, [*trips, found.unrolled] if found.unrolled > 1 else trips))
        return self.finding(
            f"`{kernel}` convolves `{source}` with `{weight}` by one multiply-add per loaded value",
            found.loops[0].span,
            kernel,
            (
                Evidence(
                    f"`{source}` is loaded as a window of {x.elements} values that the loops ({extents}) shift", x.span
                ),
                Evidence(
                    f"`{weight}` is loaded again for each output element, by its channel, one of {found.channels}"
                    if w.elements > 1
                    else f"`{weight}` is loaded as one value, so each program makes one of {found.channels} output channels",
                    w.span,
                ),
            ),
            Change(
                None,
                f"Each of {found.channels} output channels loads the same windows of `{source}` again and multiplies "
                "them on the FMA units, "
                f"{found.depth} multiply-adds a pixel, while the tensor cores idle.",
                f"Implicit GEMM: {found.channels} output channels by {pixels:,} pixels, summed over {found.depth} = "
                "input channels x taps, with "
                f"`tl.dot` on {w.dtype} tiles.",
                f"Give each program a tile of output channels by pixels; loop over the {found.depth} taps in steps of 32, gather the "
                f"[32, pixels] tile of windows with div and mod of the tap index, load [channels, 32] of `{weight}`, and `tl.dot` them "
                "into an fp32 accumulator.",
            ),
            cause,
        )
