from kernlint.rules.faults import FaultRule


class FalseMultiple(FaultRule):
    code = "KL783"
    name = "false-multiple"
    kinds = frozenset(["false-multiple"])
    summary = "tl.multiple_of claims a divisibility that the value does not have"
    what_it_does = """
        Finds `tl.multiple_of(x, n)` where x, computed for the second program of the grid, is no multiple of n. At
        info level where a stride or size that no source fixes decides.
        """
    why = """
        The compiler believes the hint and emits accesses of 16 bytes. On an address that is not aligned they fail
        with a misaligned address, or, in the shared memory of some paths, read the wrong element.
        """
    when_not = """
        Products with a constant that n divides. Values that a caller guarantees: assert it there.
        """
    fix_safety = """
        No automatic fix: either the hint goes or the caller pads.
        """
    evidence = """
        The hint reaches the IR as a divisibility attribute unchecked (Triton 3.9). Pattern row BUG-077.
        """
    references = ("https://triton-lang.org/main/python-api/generated/triton.language.multiple_of.html",)

    bad = """
        @triton.jit
        def copy_rows(x, o, stride, B: tl.constexpr):
            start = tl.multiple_of(tl.program_id(0) * stride, 16)
            c = tl.arange(0, B)
            tl.store(o + start + c, tl.load(x + start + c))

        def run():
            x = torch.randn(64, 1000, device="cuda")
            o = torch.empty_like(x)
            copy_rows[(32,)](x, o, x.stride(0), B=512)
            return o
        """
    good = bad.replace("64, 1000", "64, 1024")
    example = "start = tl.multiple_of(pid * 1000, 16)"
    use_instead = "start = pid * 1000"
