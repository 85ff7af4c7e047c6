from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.algorithm.recurrent import PersistentRecurrence, TimeLoop, time_loop
from kernlint.rules.base import WRITTEN_ANEW, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant, tensor_name
from kernlint.workload import Repeat

#: Sequences per program of the persistent kernel, and its warps.
_BLOCKS = ((16, 4), (32, 4), (64, 8))
#: Tiles of the GEMM over all time steps: rows, columns, depth, warps.
_TILES = ((64, 64, 64, 4), (128, 64, 64, 4), (128, 128, 64, 8))


class TimeStepLoop(Rule):
    code = "KL507"
    name = "time-step-loop"
    operator = "generate"
    summary = "a Python loop over time steps launches a recurrent product per step"
    what_it_does = """
        Finds Python loops around launches in which each iteration reads the state that the one before wrote, and multiplies it
        with a weight: the steps of an RNN, GRU, LSTM or state-space layer.
        """
    why = """
        The steps must follow each other, so a launch per step pays launch overhead and a cold start each time, reloads the
        same weight, and has only the rows of one step to fill the device with. The part of the step that does not depend on
        the state (the input projection) need not wait at all: it is one large matrix product over all steps.
        """
    when_not = """
        A weight that does not fit on chip. Convergence loops whose number of steps depends on the data.
        """
    fix_safety = WRITTEN_ANEW + "A recurrence through a matrix product is not written."
    evidence = """
        H100, 64 sequences, hidden size 64, fp16: 24 steps take 47.1 us with a launch each; 32 steps in one persistent kernel take
        17.9 us (`calibration/facts/h100-micro-2.csv`, recurrent_stepwise and recurrent_persistent). A launch costs 21 us of host time
        (`h100-overheads.json`). Pattern row PERF-069.
        """

    bad = """
        @triton.jit
        def step(x, h, w, u, out, sx, sh, so, H: tl.constexpr, BB: tl.constexpr):
            b = tl.program_id(0) * BB + tl.arange(0, BB)
            i = tl.arange(0, H)
            a = tl.load(x + b[:, None] * sx + i[None, :])
            s = tl.load(h + b[:, None] * sh + i[None, :])
            acc = tl.dot(a, tl.load(w + i[None, :] * H + i[:, None]))
            acc += tl.dot(s, tl.load(u + i[None, :] * H + i[:, None]))
            tl.store(out + b[:, None] * so + i[None, :], tl.sigmoid(acc).to(tl.float16))

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(128, 128, dtype=torch.float16))
                self.u = torch.nn.Parameter(torch.randn(128, 128, dtype=torch.float16))

            def forward(self, x):
                B, T, H = x.shape
                out = torch.empty_like(x)
                h = torch.zeros(B, H, device=x.device, dtype=x.dtype)
                for t in range(T):
                    now = out[:, t]
                    step[(B // 16,)](x[:, t], h, self.w, self.u, now, x.stride(0), h.stride(0), now.stride(0), H=H, BB=16)
                    h = now
                return out

        def get_inputs():
            return [torch.randn(256, 256, 128, dtype=torch.float16)]
        """
    good = """
        @triton.jit
        def recurrence(g, u, out, T, H: tl.constexpr, BB: tl.constexpr):
            b = tl.program_id(0) * BB + tl.arange(0, BB)
            i = tl.arange(0, H)
            weight = tl.load(u + i[None, :] * H + i[:, None])
            h = tl.zeros((BB, H), tl.float16)
            for t in range(T):
                at = b[:, None] * T * H + t * H + i[None, :]
                h = tl.sigmoid(tl.dot(h, weight) + tl.load(g + at)).to(tl.float16)
                tl.store(out + at, h)

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(128, 128, dtype=torch.float16))
                self.u = torch.nn.Parameter(torch.randn(128, 128, dtype=torch.float16))

            def forward(self, x):
                B, T, H = x.shape
                g = torch.nn.functional.linear(x, self.w)
                out = torch.empty_like(x)
                recurrence[(B // 16,)](g, self.u, out, T, H=H, BB=16)
                return out

        def get_inputs():
            return [torch.randn(256, 256, 128, dtype=torch.float16)]
        """
    example = "for t in range(T):\n    step[grid](x[:, t], h, w, u, out[:, t])\n    h = out[:, t]"
    use_instead = (
        "gates = linear(x, w)  # all steps at once\nrecurrence[(cdiv(B, 16),)](gates, u, out, T)  # loops over T inside"
    )

    def check(self, context: Context) -> Iterable[Finding]:
        for repeat in context.workload.steps:
            found = time_loop(repeat) if isinstance(repeat, Repeat) else None
            if found is not None:
                finding = self._finding(context, found)
                if finding is not None:
                    yield finding

    def _finding(self, context: Context, found: TimeLoop) -> Finding | None:
        repeat = found.repeat
        remedy = _remedy(context, found)
        if remedy is None:
            return None
        kernel = found.launches()[0].kernel.name
        weights, size = _weights(found), found.recurrent_bytes
        launched = found.steps * len(found.launches())
        bottleneck = (
            f"{launched} launches run one after the other, one step of {found.rows} sequences each, so the call pays {launched} times the "
            f"launch overhead and latency and loads {weights} anew in every step."
        )
        variant, method, plan = remedy
        return self.finding(
            f"a Python loop launches `{kernel}` for each of {found.steps} time steps",
            repeat.span,
            repeat.function,
            (
                Evidence(
                    f"each iteration reads the state `{tensor_name(found.state[0], 'the state')}` that the one before it wrote",
                    repeat.span,
                ),
                Evidence(f"the state is multiplied with {weights}, {size // 1024} KB", found.recurrent[0].step.span),
                *(
                    Evidence(
                        f"`{tensor_name(p.data, 'input')}` times `{tensor_name(p.weight, 'weight')}` does not "
                        "depend on the state",
                        p.step.span,
                    )
                    for p in found.inputs
                ),
            ),
            Change(variant, bottleneck, method, plan),
            kernel=kernel,
        )


def _weights(found: TimeLoop) -> str:
    return " and ".join(f"`{tensor_name(p.weight, 'weight')}` [{p.columns}, {p.k}]" for p in found.recurrent)


def _remedy(context: Context, found: TimeLoop) -> tuple[Variant, str, str] | None:
    """The program after it, the method and the plan: one persistent kernel; None where the recurrent weight does not fit on chip."""
    size, line = found.recurrent_bytes, found.repeat.span.line
    project = (
        f"Project the inputs of all {found.steps} steps in one GEMM of {found.steps * found.rows:,} rows"
        if found.inputs
        else ""
    )
    if size + 64 * max(p.k for p in found.recurrent) > context.device.shared_memory_max_bytes_per_block:
        return None
    variant, rows, warps = _persistent(context, found)
    method = (
        f"{project + ', then run' if project else 'Run'} the recurrence in one persistent kernel that loops over the steps with "
        "the recurrent weight and the state on chip."
    )
    plan = (
        (f"{project} before the loop. " if project else "")
        + f"Launch one kernel with grid (cdiv({found.rows}, {rows}),) and {warps} warps: load {_weights(found)} "
        f"({size // 1024} KB) once, loop over {found.steps} steps with one `tl.dot` of the [{rows}, "
        f"{found.recurrent[0].k}] state, add the step's input, apply the activation, store the state. Drop "
        f"the Python loop at line {line}."
    )
    return variant, method, plan


def _persistent(context: Context, found: TimeLoop) -> tuple[Variant, int, int]:
    options = []
    tiles = _TILES if found.inputs else _TILES[:1]
    for rows, warps in _BLOCKS:
        for tile in tiles:
            change = PersistentRecurrence(found.repeat.span, rows, warps, tile)
            variant = context.variant.then(transform=change)
            options.append((context.gpu_us(variant) or float("inf"), rows, warps, variant))
    _, rows, warps, variant = min(options, key=lambda option: option[:3])
    return variant, rows, warps
