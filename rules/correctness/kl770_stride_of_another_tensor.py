from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.strides import storages_by_name, uses
from kernlint.rules.finding import Context, Evidence, Finding


class StrideOfAnotherTensor(Rule):
    code = "KL770"
    name = "stride-of-another-tensor"
    severity = "info"
    summary = "a tensor is addressed with the strides of another one"
    what_it_does = """
        Finds accesses of a tensor that the caller hands in whose address is made with the stride of another argument,
        where nothing in view makes the two layouts equal.
        """
    why = """
        The two agree in every test with contiguous inputs. A slice, a transposed view or an expanded tensor in one
        place, and the kernel reads other elements, or outside of the tensor.
        """
    when_not = """
        Tensors made by `empty_like` of the one whose strides are passed. Both known to be contiguous
        (`.contiguous()`, an assert).
        """
    fix_safety = """
        No automatic fix: the kernel needs one more parameter for the strides of each tensor, and every launch of it.
        """
    evidence = """
        A question of data flow; nothing is measured. Pattern row BUG-056.
        """

    bad = """
        @triton.jit
        def add(a, b, o, s, N, B: tl.constexpr):
            r, c = tl.program_id(0), tl.arange(0, B)
            v = tl.load(a + r * s + c, mask=c < N) + tl.load(b + r * s + c, mask=c < N)
            tl.store(o + r * N + c, v, mask=c < N)

        def run(a, b):
            rows, columns = a.shape
            o = torch.empty((rows, columns), device=a.device)
            add[(rows,)](a, b, o, a.stride(0), columns, B=1024)
            return o
        """
    good = (
        bad.replace("o, s, N,", "o, sa, sb, N,")
        .replace("a + r * s", "a + r * sa")
        .replace("b + r * s", "b + r * sb")
        .replace("a.stride(0),", "a.stride(0), b.stride(0),")
    )
    example = "add[grid](a, b, o, a.stride(0), n, B=1024)"
    use_instead = "add[grid](a, b, o, a.stride(0), b.stride(0), n, B=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        storages = storages_by_name(context.workload)
        seen = set()
        for use in uses(context.workload):
            tensor, base = use.tensor, use.access.base
            if tensor.storage.origin != "input" or tensor.strides is not None or (use.launch.span, base) in seen:
                continue
            own = {name for name in use.owners if storages.get(name) == tensor.storage.id}
            others = sorted(name for name in use.owners - own if name in storages)
            if own or not others:
                continue
            seen.add((use.launch.span, base))
            yield self.finding(
                f"`{tensor.name or base}` is addressed with the stride of `{others[0]}`, and nothing makes their layouts equal",
                use.access.span,
                use.launch.kernel.name,
                (Evidence(f"`{base}` is `{tensor.name or base}` in this launch", use.launch.span),),
            )
