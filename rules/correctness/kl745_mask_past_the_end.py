from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.proofs.bounds import overruns, sizes_told, witness
from kernlint.workload import Load, Store


class MaskPastTheEnd(Rule):
    code = "KL745"
    name = "mask-past-the-end"
    severity = "error"
    at_any_size = True
    summary = "an access under a mask leaves its tensor: the mask bounds another index than the one in the address"
    what_it_does = """
        Finds a program, iteration and lane that the mask lets through and whose address lies behind the last element of the
        tensor. Sizes must be in view, or be those of the tensor itself: then the access leaves it at each of those tried.
        """
    why = """
        The mask was written so that nothing is read or written past the end, and it tests an index that the address has left: a
        shift that is only in the address, or a pointer that an earlier loop has moved on.
        """
    when_not = "Tensors that are views into a larger buffer that is not in view."
    fix_safety = "No automatic fix: whether the mask or the address is meant is the author's to say."
    evidence = """
        A pointer that one loop moves on and a second one uses without taking it back reads the next row, and past the end in the
        last one (Triton's interpreter shows it). No gain: wrong results have no speed.
        """
    references = ("https://github.com/state-spaces/mamba/pull/537",)

    bad = """
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            here = tl.load(x + index, mask=index < n)
            after = tl.load(x + index + 1, mask=index < n)
            tl.store(y + index, after - here, mask=index < n)

        def differences(x):
            n = x.numel()
            y = torch.empty_like(x)
            kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
            return y

        def get_inputs():
            return [torch.randn(4099)]
        """
    good = bad.replace("index + 1, mask=index < n", "index + 1, mask=index + 1 < n, other=0.0")
    example = "after = tl.load(x + index + 1, mask=index < n)"
    use_instead = "after = tl.load(x + index + 1, mask=index + 1 < n, other=0.0)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for kind, verb in ((Load, "reads"), (Store, "writes")):
            for over in overruns(context.workload, kind):
                access, kernel = over.site.access, over.launch.kernel.name
                if access.mask is None or over.launch.premises or (kernel, access.span) in seen:
                    continue
                seen.add((kernel, access.span))
                where = f" where {sizes_told(over.sizes)}, for example" if over.sizes else ""
                yield self.finding(
                    f"the mask lets through an access that {verb} element {over.reached} of `{access.base}`, which has "
                    f"{over.last + 1}{where}",
                    access.span,
                    kernel,
                    witness(over.launch, over.point, f"{verb} element {over.reached} of `{access.base}`"),
                )
