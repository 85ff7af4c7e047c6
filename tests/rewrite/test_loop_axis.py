"""Python loops of launches turned into a grid axis."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fixed, needs_interpreter, refusal

ROW = """
B, H, N = {sizes}

@triton.jit
def double(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n) * 2.0, mask=i < n)


@triton.jit
def shift(x_ptr, s_ptr, y_ptr, n, stride, which, BLOCK: tl.constexpr):
    # one tile of one row
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(s_ptr + which)
    tl.store(y_ptr + i, tl.load(x_ptr + i * stride, mask=i < n) + s, mask=i < n)


{body}

class ModelNew(torch.nn.Module):
    def forward(self, x, s):
{forward}


def get_inputs():
    return [{inputs}, torch.randn(B)]
"""

LARGE = "16, 4, 8192"
SMALL = ["3, 2, 100", "1, 1, 1", "2, 3, 257"]


def program(forward: str, inputs: str = "torch.randn(B, N)", body: str = "", sizes: str = LARGE) -> str:
    text = textwrap.indent(textwrap.dedent(forward).strip("\n"), " " * 8)
    values = {"sizes": sizes, "body": textwrap.dedent(body), "forward": text, "inputs": inputs}
    result = ROW
    for name, value in values.items():
        result = result.replace("{" + name + "}", value)
    return result


HELPER = '''
def double_row(src, dst):
    """Twice a single row."""
    (n,) = src.shape
    assert src.stride(0) == 1 and src.dtype == dst.dtype
    double[(triton.cdiv(n, 1024),)](src, dst, src.numel(), BLOCK=1024)
'''

CASES = [
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(x.shape[0]):
            double[(triton.cdiv(N, 1024),)](x[b], y[b], N, BLOCK=1024)
        return y
        """, "torch.randn(B, N)", "", id="views as arguments",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        grid = (triton.cdiv(N, 512),)
        for row in range(B):
            source = x[row]
            target = y[row, :]
            double[grid](src=source, dst=target, n=source.shape[0], BLOCK=512)
        return y
        """, "torch.randn(B, N)", "", id="views with names, keywords",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            double_row(x[b], dst=y[b])
        return y
        """, "torch.randn(B, N)", HELPER, id="in a helper",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            for h in range(H):
                double[(triton.cdiv(N, 1024),)](x[b, h], y[b, h], N, BLOCK=1024)
        return y
        """, "torch.randn(B, H, N)", "", id="two loops",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            shift[(triton.cdiv(N, 1024),)](x[b], s, y[b], N, x[b].stride(0), b, BLOCK=1024)
        return y
        """, "torch.randn(B, N)", "", id="the index itself",
    ),
    pytest.param(
        """
        y = torch.empty(B, N)
        launch = lambda meta: (triton.cdiv(N, meta["BLOCK"]),)
        for b in range(B):
            shift[launch](x[:, b], s, y[b], x[:, b].numel(), x[:, b].stride(0), 0, BLOCK=1024)
        return y
        """, "torch.randn(N, B)", "", id="a loop over the second dimension",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("forward", "inputs", "body"), CASES)
def test_the_loop_is_gone(forward: str, inputs: str, body: str) -> None:
    after = fixed(program(forward, inputs, body), "KL601")
    assert "for " not in after.split("class ModelNew")[1]
    assert "tl.program_id(1).to(tl.int64)" in after


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize(("forward", "inputs", "body"), CASES)
def test_same_results(tmp_path: Path, forward: str, inputs: str, body: str, size: str) -> None:
    source = program(forward, inputs, body)
    after = fixed(source, "KL601")
    assert_same_results(tmp_path, source.replace(LARGE, size), after.replace(LARGE, size))


def test_text_of_a_helper() -> None:
    after = fixed(program(CASES[2].values[0], body=HELPER), "KL601")  # type: ignore[arg-type]
    assert (
        '''
def double_row(src, dst):
    """Twice all rows."""
    (n,) = src.shape[1:]
    assert src.stride(1) == 1 and src.dtype == dst.dtype
    double[(triton.cdiv(n, 1024), src.shape[0])](
        src, dst, src[0].numel(),
        src.stride(0), dst.stride(0),
        BLOCK=1024,
    )
'''
        in after
        or "double[(triton.cdiv(n, 1024), src.shape[0])](src, dst, src[0].numel(), src.stride(0), dst.stride(0), BLOCK=1024)"
        in after
    )
    assert "        double_row(x, dst=y)\n" in after


REFUSED = [
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            t = torch.relu(x[b])
            double[(triton.cdiv(N, 1024),)](t, y[b], N, BLOCK=1024)
        return y
        """, "torch calls", id="torch in the loop",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        double[(1,)](x[0], y[0], 5, BLOCK=8)
        for b in range(B):
            double[(triton.cdiv(N, 1024),)](x[b], y[b], N, BLOCK=1024)
        return y
        """, "more places", id="launched elsewhere too",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("forward", "reason"), REFUSED)
def test_refused(forward: str, reason: str) -> None:
    assert reason in refusal(program(forward), "KL601")
