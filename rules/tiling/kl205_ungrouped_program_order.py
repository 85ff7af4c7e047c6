from __future__ import annotations

from collections.abc import Iterable

from kernlint.cost.dot_launch import dot_loop
from kernlint.cost.dot_occupancy import resident_programs
from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.dot_tiles import main_dot
from kernlint.rules.proofs.pricing import LEAST_GAIN, gain
from kernlint.rules.tiling.program_order import GroupedOrder, program_order, tiles_of_wave

_GROUP = 8
#: Share of the strips of a wave that the grouped order must save.
_SAVED = 0.2


class UngroupedProgramOrder(Rule):
    code = "KL205"
    name = "ungrouped-program-order"
    summary = "a matmul sweeps an operand larger than the L2 once for every row of tiles"
    what_it_does = """
        Finds matmul-like kernels whose programs visit the tiles of the output row by row (or column by column) although the
        operand that a row sweeps does not stay in the L2. Enumerates the programs that run at the same time and counts the
        strips of both operands that they need, in the order of the source and in groups of 8 rows.
        """
    why = """
        The programs of one wave share what they load through the L2. A wave that is one row of tiles wide needs a single
        strip of one operand and as many of the other as there are SMs; a square one needs the root of it from both. Where the
        swept operand exceeds the L2, every row of tiles fetches it from memory again.
        """
    when_not = "Operands that fit the L2. A single row of tiles. A grid of one wave. Kernels that already group their programs."
    fix_safety = """
        By hand safe: the same tiles by the same arithmetic, in another order. `kernlint fix --unsafe-fixes` writes the kernel anew.
        """
    evidence = """
        H100, fp16, 6144^3 with tile 32x32x32: 5842 us in plain order, 3628 us in groups of 8
        (`calibration/facts/h100-gemm-2.csv`); 4096^3 with tile 128x128x64, where the tensor cores set the pace: 247 and 251 us
        (`h100-gemm.csv`). Pattern row PERF-027.
        """
    references = ("https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html",)

    bad = (
        MATMUL.replace("m = tl.program_id(0) * BM", "pid = tl.program_id(0)\n"
                       "            columns = tl.cdiv(N, BN)\n"
                       "            m = (pid // columns) * BM")
        .replace("tl.program_id(1)", "(pid % columns)")
        .replace("(start + k)[:, None] * N + n[None, :]", "n[None, :] * K + (start + k)[:, None]")
    )  # fmt: skip
    good = (
        bad.replace("m = (pid // columns) * BM", "first = pid // (8 * columns) * 8\n"
                    "            size = min(64 - first, 8)\n"
                    "            m = (first + pid % (8 * columns) % size) * BM")
        .replace("n = (pid % columns) * BN", "n = (pid % (8 * columns) // size) * BN")
    )  # fmt: skip
    launch = "matmul[(64 * 256,)](a, b, c, 32768, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)"
    takes, makes = "a, b", "c = torch.empty(8192, 32768, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(8192, 4096, dtype=torch.float16), torch.randn(32768, 4096, dtype=torch.float16)"
    example = "pid_m, pid_n = pid // columns, pid % columns"
    use_instead = "pid_m, pid_n = tl.swizzle2d(pid // columns, pid % columns, rows, columns, 8)"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.distinct_launches():
            found = main_dot(launch)
            order = program_order(launch, found[0]) if found is not None and found[1] else None
            if found is None or order is None:
                continue
            tensors = [launch.tensor(load.base) for load in (order.fast_load, order.slow_load)]
            swept, other = (tensor.nbytes if tensor is not None else None for tensor in tensors)
            strips = order.slow_extent * order.fast_extent
            # Each half of the L2 keeps a copy of what the SMs on its side read, so shared data has half of the capacity.
            if swept is None or other is None or order.slow_extent < 2 or swept <= context.device.l2_bytes / 2:
                continue
            priced = dot_loop(launch)
            if priced is None:
                continue
            wave = min(strips, context.device.sm_count * resident_programs(priced, context.device))
            slow, fast = tiles_of_wave(order, wave)
            grouped_slow, grouped_fast = tiles_of_wave(order, wave, _GROUP)
            before = slow * other / order.slow_extent + fast * swept / order.fast_extent
            after = grouped_slow * other / order.slow_extent + grouped_fast * swept / order.fast_extent
            if wave == strips or after > (1 - _SAVED) * before:
                continue
            variant = context.variant.then(transform=GroupedOrder(launch.span, _GROUP))
            expected = gain(context, variant)
            if expected is not None and expected < LEAST_GAIN:
                continue
            name = tensor_name(launch.tensor(order.fast_load.base), "the swept operand")
            kernel = launch.kernel.name
            change = Change(
                variant,
                f"A wave of {wave} programs covers {slow} x {fast} tiles, so each of the {order.slow_extent} rows of tiles "
                f"reads `{name}` ({swept / 1e6:.0f} MB) anew through an L2 of {context.device.l2_bytes / 1e6:.0f} MB.",
                f"Order the programs in groups of {_GROUP} rows: a wave then covers {grouped_slow} x {grouped_fast} tiles and "
                f"loads {after / 1e6:.0f} MB instead of {before / 1e6:.0f} MB.",
                f"Take a 1-D grid and compute pid_m = first + pid % (GROUP * columns) % size and pid_n = pid % (GROUP * "
                f"columns) // size with GROUP = {_GROUP}, first = pid // (GROUP * columns) * GROUP and size = min(rows - first, "
                "GROUP), or use tl.swizzle2d.",
            )
            yield self.finding(
                f"`{kernel}` visits {order.slow_extent} x {order.fast_extent} tiles in row order while "
                f"`{name}` exceeds the L2", launch.span, kernel,
                (
                    Evidence(f"grid {' x '.join(map(str, launch.grid))}; neighbouring programs move only `{name}`", launch.span),
                    Evidence(f"`{name}` is {swept / 1e6:.0f} MB and swept once per row", order.fast_load.span),
                ),
                change,
            )  # fmt: skip
