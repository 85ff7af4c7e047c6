from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.attention import Attention, materialised_attention, supported
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import Launch, Step


class MaterialisedAttention(Rule):
    code = "KL501"
    name = "materialised-attention"
    operator = "generate"
    summary = "attention writes its scores and probabilities to memory between the two products"
    what_it_does = """
        Finds a product whose [rows, columns] result is stored, a row softmax that reads it, and a second product that reads
        the probabilities, in kernels or torch calls. Follows the tensors from step to step; batched or not, with scaling,
        masking and casts between.
        """
    why = """
        The scores have rows x columns elements a head, far more than queries, keys and values together: writing and reading
        them several times is what attention then costs. An online softmax keeps a tile of scores on chip and rescales the
        running output, so one kernel does it all and memory holds only its inputs and output.
        """
    when_not = """
        The probabilities are needed elsewhere (attention maps, a backward pass that re-reads them). Very short sequences,
        whose scores stay in L2: the estimate decides. Head dimensions above 256.
        """
    evidence = """
        H100, 24 heads of 1536 x 64 in fp16: 84.2 us for the scores in fp32 and 50.6 us for the product with the values, the
        softmax apart; one flash kernel with tile 128x64 takes 50.5 us (`calibration/facts/h100-micro-2.csv`). Pattern row
        PERF-067.
        """
    references = ("https://arxiv.org/abs/2205.14135",)

    bad = """
        @triton.jit
        def scores_kernel(q, k, s, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n = tl.program_id(1) * BN + tl.arange(0, BN)
            d = tl.arange(0, D)
            head = tl.program_id(2)
            a = tl.load(q + head * T * D + m[:, None] * D + d[None, :])
            b = tl.load(k + head * T * D + n[None, :] * D + d[:, None])
            tl.store(s + head * T * T + m[:, None] * T + n[None, :], tl.dot(a, b) * 0.125)

        class ModelNew(torch.nn.Module):
            def forward(self, q, k, v):
                heads, length, width = q.shape
                s = torch.empty(heads, length, length, device=q.device, dtype=torch.float32)
                scores_kernel[(length // 128, length // 128, heads)](q, k, s, length, D=width, BM=128, BN=128)
                p = torch.softmax(s, dim=-1).to(torch.float16)
                return torch.matmul(p, v)

        def get_inputs():
            return [torch.randn(32, 2048, 64, dtype=torch.float16) for _ in range(3)]
        """
    good = bad.replace(
        "p = torch.softmax(s, dim=-1).to(torch.float16)\n                return torch.matmul(p, v)",
        "p = torch.relu(s).to(torch.float16)\n                return torch.matmul(p, v)",
    )
    example = "scores[grid](q, k, s)\np = softmax(s)\nout = p @ v"
    use_instead = "flash_attention[grid](q, k, v, out)  # loop over key blocks, online softmax"

    def check(self, context: Context) -> Iterable[Finding]:
        for found in materialised_attention(context.workload):
            if supported(found) and found.launches():
                yield from (self._finding(found, cause) for cause in causes_at(context, steps=found.steps))

    def _finding(self, found: Attention, cause: Cause | None) -> Finding:
        names = list(dict.fromkeys(f"`{tensor_name(t, 'scores')}`" for t in found.stored if t.name)) or ["the scores"]
        stored = " and ".join(names)
        moved = sum(t.nbytes or 0 for t in found.stored)
        size = f" ({moved / 1e6:.0f} MB in all, written and read again)" if moved else ""
        shape = ", ".join(map(str, found.stored[0].shape or ()))
        first = found.launches()[0]
        return self.finding(
            f"attention stores [{shape}] scores between its products, in {len(found.steps)} passes",
            found.steps[0].span,
            found.steps[0].function,
            tuple(_links(found)),
            Change(
                None,
                f"Scores and probabilities {stored} [{shape}] go through memory{size} in {len(found.steps)} kernels, so the call is "
                "bound by that traffic rather than by the tensor cores.",
                "Flash attention: one kernel that loops over blocks of keys with an online softmax, so that scores and "
                "probabilities never leave the chip.",
                f"Write one kernel with grid (cdiv({found.rows}, ROWS), {found.batch}), ROWS=128 say: load a tile of queries, loop over "
                "tiles of 64 keys with two `tl.dot`s, a running row maximum and row sum, rescale the accumulator, divide at the "
                f"end. Drop {stored} and the {len(found.steps)} passes.",
            ),
            cause,
            kernel=first.kernel.name,
        )


def _links(found: Attention) -> Iterator[Evidence]:
    """One link of the proof per step of the chain."""
    out = ["writes"] * len(found.steps)
    for step, word in zip(found.steps, out):
        target = step.writes[0] if not isinstance(step, Launch) and hasattr(step, "writes") else None
        name = tensor_name(target, "") or _written(step)
        yield Evidence(f"{_name(step)} {word} {name}", step.span)


def _name(step: Step) -> str:
    return f"`{step.kernel.name}`" if isinstance(step, Launch) else f"torch {getattr(step, 'name', 'call')}"


def _written(step: Step) -> str:
    if isinstance(step, Launch):
        stores = step.kernel.stores()
        tensor = step.tensor(stores[-1].base) if stores else None
        return str(tensor) if tensor is not None else "a tensor"
    writes = getattr(step, "writes", ())
    return str(writes[0]) if writes else "a tensor"
