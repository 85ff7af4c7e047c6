from __future__ import annotations

from collections.abc import Iterable

from kernlint.operators.write_in_place import WRITE_IN_PLACE, CopyBack
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name


class CopiedBack(Rule):
    code = "KL303"
    name = "out-of-place-then-copy-back"
    operator = "write in place"
    summary = "a kernel writes its result to a new tensor that is then copied over the input"
    what_it_does = """
        Finds `x.copy_(new)` where `new` was allocated in the same call, is written by one launch and read by nothing but the
        copy, and where the launch could have stored to `x` itself: each program reads only those elements of `x` that it
        later writes.
        """
    why = """
        The copy reads and writes the whole tensor again and is a launch of its own. An optimiser step that keeps three
        tensors this way moves 52 instead of 28 bytes per parameter.
        """
    when_not = """
        Programs that read elements which other programs write (stencils, transposes, scans). Results that something else
        reads before or after the copy.
        """
    fix_safety = "Safe: the loads and stores of `x` have the same addresses, in one program, loads first."
    evidence = """
        H100: a contiguous copy of 4096 x 4096 halves takes 24.3 us (`clone` in `calibration/facts/h100-torch-ops.csv`). Pattern
        row PERF-034 for copies that a kernel makes needless.
        """

    bad = """
        @triton.jit
        def momentum(p, g, m, p_new, m_new, n, lr, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            inside = i < n
            moment = 0.9 * tl.load(m + i, mask=inside) + tl.load(g + i, mask=inside)
            tl.store(p_new + i, tl.load(p + i, mask=inside) - lr * moment, mask=inside)
            tl.store(m_new + i, moment, mask=inside)

        def step(p, g, m):
            p_new, m_new = torch.empty_like(p), torch.empty_like(m)
            momentum[(triton.cdiv(p.numel(), 1024),)](p, g, m, p_new, m_new, p.numel(), 0.1, BLOCK=1024)
            p.copy_(p_new)
            m.copy_(m_new)

        class ModelNew(torch.nn.Module):
            def forward(self, p, g, m):
                step(p, g, m)
                return p, m

        def get_inputs():
            return [torch.randn(1 << 24), torch.randn(1 << 24), torch.randn(1 << 24)]
        """
    good = (
        bad.replace("            p_new, m_new = torch.empty_like(p), torch.empty_like(m)\n", "")
        .replace("            p.copy_(p_new)\n            m.copy_(m_new)\n", "")
        .replace(" p_new, m_new,", "")
        .replace("p_new", "p")
        .replace("m_new", "m")
    )
    example = "kernel[grid](p, g, p_new, n)\np.copy_(p_new)"
    use_instead = "kernel[grid](p, g, p, n)  # each program reads its elements before it writes them"

    def check(self, context: Context) -> Iterable[Finding]:
        by_function: dict[str, list[CopyBack]] = {}
        for found in WRITE_IN_PLACE.proven(context):
            by_function.setdefault(found.copy.function, []).append(found)
        for function, copies in by_function.items():
            names = [tensor_name(found.target, "the input") for found in copies]
            listed = ", ".join(f"`{name}`" for name in names)
            moved = sum(2 * (found.new.nbytes or 0) for found in copies)
            size = f" ({moved / 1e6:.1f} MB read and written again)" if moved else ""
            count = f"{len(copies)} extra cop{'y' if len(copies) == 1 else 'ies'}"
            kernel = copies[0].launch.kernel.name
            plural = "s" if len(copies) > 1 else ""
            change = Change(
                WRITE_IN_PLACE.apply(context, copies),
                f"`{kernel}` writes its results to new tensors, and every call then copies them over {listed}: {count}{size}.",
                f"Let `{kernel}` store to {listed} directly: each program reads its elements before it writes the same ones.",
                f"Pass {listed} as the output{plural} of `{kernel}` at line {copies[0].launch.span.line}; remove the "
                f"allocation{plural} and the copy_ call{plural} "
                f"(line{plural} {', '.join(str(found.copy.span.line) for found in copies)}).",
            )
            evidence = [
                Evidence(
                    f"`{tensor_name(found.launch.tensor(found.parameter), 'the result')}` is written by `{kernel}`, read only "
                    f"by this copy to `{name}`",
                    found.copy.span,
                )
                for found, name in zip(copies, names)
            ]
            yield self.finding(
                f"`{function}` copies {listed} back from new tensors that `{kernel}` wrote",
                copies[0].copy.span, function, tuple(evidence), change, kernel=kernel,
            )  # fmt: skip
