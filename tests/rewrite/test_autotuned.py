"""Tiles that are left to triton.autotune (KL201 with --autotune, KL220): the decorator, the launch and the grid, and what is
left alone."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.rewriting import HEADER

from kernlint.analysis import read_program
from kernlint.cost.estimate import estimate
from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rewrite.site import Site, rewriting_of
from kernlint.rewrite.text import CannotRewrite, apply_edits
from kernlint.rules.finding import Context
from kernlint.rules.proofs.grid_literals import joined
from kernlint.rules.registry import all_rules, find_rule
from kernlint.rules.tiling.tuned_tiles import Autotuned, Configuration

KERNEL = """
{decorators}def matmul(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr{more}):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * sa + (start + k)[None, :], mask=(m < M)[:, None] & (start + k < K)[None, :], other=0.0)
        y = tl.load(b + (start + k)[:, None] * sb + n[None, :], mask=(n < N)[None, :] & (start + k < K)[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
    inside = (m < M)[:, None] & (n < N)[None, :]
    {store}

"""
STORE = "tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=inside)"
HOST = """
M, N, K = 2048, 1024, 1024
{constants}
class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.{alloc}((a.shape[0], b.shape[1]), device=a.device, dtype=torch.float16)
{body}
        return c

def get_inputs():
    return [torch.randn(M, K, dtype=torch.float16), torch.randn(K, N, dtype=torch.float16)]
"""


def program(
    body: str,
    constants: str = "",
    store: str = STORE,
    decorators: str = "@triton.jit\n",
    alloc: str = "empty",
    more: str = "",
) -> str:
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "        ")
    kernel = KERNEL.format(decorators=decorators, store=store, more=more)
    return HEADER + kernel + HOST.format(body=body, constants=constants, alloc=alloc)


UPDATE = """at = c + m[:, None] * N + n[None, :]
    old = tl.load(at, mask=inside, other=0.0)
    tl.store(at, (old + acc).to(tl.float16), mask=inside)"""
DECORATOR = """
@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=4, num_stages=3),
        triton.Config({"BM": 64, "BN": 64, "BK": 64}, num_warps=4, num_stages=3),
    ],
    key=["M", "N"],
    restore_value=["c"],  # the kernel updates them, and tuning runs it many times
)
"""
PLAIN = """
BM, BN = 32, 32
grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
matmul[grid](a, b, c, M, N, K, K, N, BM, BN, BK=32)
"""


def tuned(
    source: str, key: tuple[str, ...] = ("M", "N"), bucketed: tuple[str, ...] = (), restored: tuple[str, ...] = ()
) -> str:
    """``source`` with its one launch left to an autotuner of two configurations. Raises ``CannotRewrite``."""
    reading = read_program(Request(source, path="k.py"))
    workload = reading.workloads[0]
    context = Context(reading.program, workload, reading.device, price=lambda w: estimate(w, reading.device))
    launch = joined(context, workload.launches()[0])
    names = [name for name in ("BM", "BN", "BK") if name in launch.constexprs]
    configurations = tuple(Configuration(tuple((name, size) for name in names), 4, 3) for size in (32, 64))
    literals = tuple((name, span) for name in names for span in launch.literals.get(name, ()))
    change = Autotuned(launch.span, configurations, key, frozenset(bucketed), restored, literals, ())
    made = rewriting_of(Site(reading.program, workload), change)
    after = apply_edits(source, made.edits)
    (again,) = read_program(Request(after, path="k.py")).workloads[0].launches()
    assert again.autotuned and len(again.alternatives) == 1 and again.kernel.complete
    assert again.tuning is not None and again.tuning.parameters == set(names)
    assert again.grid == launch.grid
    return after


def refusal(source: str) -> str:
    with pytest.raises(CannotRewrite) as error:
        tuned(source)
    return str(error.value)


HOSTS = {
    "constants of the function": (PLAIN, ""),
    "literals at the launch": (
        "matmul[lambda meta: (triton.cdiv(M, meta['BM']), triton.cdiv(N, meta['BN']))](a, b, c, M, N, K, K, N, BM=32, BN=32, BK=32)",
        "",
    ),
    "constants of the module": (
        "grid = lambda meta: (triton.cdiv(M, TILE_M), triton.cdiv(N, TILE_N))\n"
        "matmul[grid](a, b, c, M, N, K, K, N, BM=TILE_M, BN=TILE_N, BK=32, num_warps=4)",
        "TILE_M = 32\nTILE_N = 32  # columns of a tile",
    ),
    "constants of the module called as the kernel calls its own": (
        "grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))\n"
        "matmul[grid](a, b, c, M, N, K, K, N, BM=BM, BN=BN, BK=32)",
        "BM = 32\nBN = 32",
    ),
    "one constant for rows and columns": (
        "T = 32\nmatmul[(triton.cdiv(M, T), triton.cdiv(N, T))](a, b, c, M, N, K, K, N, BM=T, BN=T, BK=32)",
        "",
    ),
    "the grid in steps": (
        "BM, BN, BK = 32, 32, 32\nrows = triton.cdiv(M, BM)\ncolumns = (N + BN - 1) // BN\n"
        "matmul[(rows, columns)](a, b, c, M, N, K, K, N, BM=BM, BN=BN, BK=BK)",
        "",
    ),
    "the grid as two indices": (
        "BM, BN = 32, 32\nmatmul[triton.cdiv(M, BM), triton.cdiv(N, BN)](a, b, c, M, N, K, K, N, BM, BN, 32)",
        "",
    ),
    "numbers in the grid": (
        "matmul[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, K, N, BM=32, BN=32, BK=32)",
        "",
    ),
    "the grid as a function": (
        "BM, BN = 32, 32\ndef grid(META):\n    return (triton.cdiv(M, BM), triton.cdiv(N, BN))\n"
        "matmul[grid](a, b, c, M, N, K, K, N, BM, BN, 32)",
        "",
    ),
    "a constant beside others": (
        "BM, scale, BN = 32, 1, 32\nrows = M * scale\ngrid = (triton.cdiv(rows, BM), triton.cdiv(N, BN))\n"
        "matmul[grid](a, b, c, M, N, K, K, N, BM, BN, 32)",
        "",
    ),
}  # fmt: skip


def test_a_variable_that_only_says_an_option() -> None:
    body = PLAIN.replace("BK=32", "BK=32, num_warps=warps, num_stages=stages").replace(
        "BM, BN", "warps = 8\nstages = 3\nprint(stages)\nBM, BN", 1
    )
    after = tuned(program(body))
    assert "warps = 8" not in after and "stages = 3" in after


def test_attributes_of_the_module() -> None:
    body = "matmul[(triton.cdiv(M, self.rows), triton.cdiv(N, self.columns))](a, b, c, M, N, K, K, N, BM=self.rows, BN=self.columns, BK=32)"
    source = program(body).replace(
        "    def forward",
        "    def __init__(self):\n        # the tile\n        self.rows = 32  # of a\n        self.columns = 32\n\n    def forward",
    )
    after = tuned(source)
    assert "    def __init__(self):\n        pass\n" in after
    assert "self.rows" not in after and "# the tile" not in after and "# of a" not in after


@pytest.mark.parametrize("case", HOSTS)
def test_the_tile_is_tuned(case: str) -> None:
    body, constants = HOSTS[case]
    after = tuned(program(body, constants))
    launch = after[after.index("torch.empty") : after.index("return c")]
    for gone in ("BM=", "BN=", "BK=", "num_warps", "32"):
        assert gone not in launch
    key = next(line.strip() for line in after.splitlines() if "key=[" in line)
    assert '"M"' in key and "BM" not in key
    assert "TILE_M" not in after and "TILE_N" not in after


def test_the_whole_text() -> None:
    after = tuned(program(PLAIN), restored=("c",))
    assert after.split("@triton.jit\n")[0].removeprefix(HEADER).strip() == DECORATOR.strip()
    assert '        grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))\n' in after
    assert "        matmul[grid](a, b, c, M, N, K, K, N)\n" in after
    assert "BM, BN = 32, 32" not in after


def test_a_size_that_counts_by_its_power_of_two() -> None:
    after = tuned(program(PLAIN), bucketed=("M",))
    assert 'key=["M_BUCKET", "N"],' in after
    assert "sa, sb, M_BUCKET, BM: tl.constexpr" in after
    assert "(a, b, c, M, N, K, K, N, M_BUCKET=triton.next_power_of_2(M))" in after


def test_arguments_behind_the_tile_are_passed_by_name() -> None:
    source = program(
        "matmul[lambda M_: (triton.cdiv(M, M_['BM']), triton.cdiv(N, M_['BN']))](a, b, c, M, N, K, K, N, 32, 32, 32, 7)",
        more=", EXTRA: tl.constexpr",
    )
    assert "(a, b, c, M, N, K, K, N, EXTRA=7)" in tuned(source)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(
            "BM, BN = 32, 32\nrows = triton.cdiv(M, BM)\npartial = torch.empty((rows, N), device=a.device)\n"
            "matmul[(rows, triton.cdiv(N, BN))](a, b, c, M, N, K, K, N, BM, BN, 32)",
            "for more than the launch and its grid",
            id="a buffer with a row for each program",
        ),
        pytest.param(
            "BM, BN = 32, 32\nassert M % BM == 0\n"
            "matmul[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, c, M, N, K, K, N, BM, BN, 32)",
            "`BM` is used at line",
            id="an assertion about the tile",
        ),
        pytest.param(
            f"{PLAIN}\nmatmul[(triton.cdiv(M, 64), triton.cdiv(N, 64))](a, b, c, M, N, K, K, N, 64, 64, 32)",
            "is used in more places than this launch",
            id="a second launch that sets the tile",
        ),
        pytest.param(
            "BM, BN = 32, 32\ngrid = (triton.cdiv(M, BM), triton.cdiv(N, BN))\nprint(grid)\n"
            "matmul[grid](a, b, c, M, N, K, K, N, BM, BN, 32)",
            "used for more than this launch",
            id="the grid is printed",
        ),
        pytest.param(
            "BM, BN = 32, 32\nm = a.shape[0]\ngrid = (triton.cdiv(m, BM), triton.cdiv(N, BN))\nm = 1\n"
            "matmul[grid](a, b, c, M, N, K, K, N, BM, BN, 32)",
            "changes in the function",
            id="the grid is of an earlier value",
        ),
        pytest.param(
            "options = {'BM': 32, 'BN': 32, 'BK': 32}\n"
            "matmul[lambda meta: (triton.cdiv(M, meta['BM']), triton.cdiv(N, meta['BN']))](a, b, c, M, N, K, K, N, **options)",
            "unpacked arguments",
            id="options in a dictionary",
        ),
    ],
)  # fmt: skip
def test_left_alone(body: str, why: str) -> None:
    assert why in refusal(program(body))


@pytest.mark.parametrize(
    "other",
    ["def other(tile=BM): return tile", "def other(x):\n    global BM\n    BM = x\n    return BM", "print(BM)"],
    ids=["a default", "a global statement", "the module itself"],
)
def test_a_constant_of_the_module_that_is_read_elsewhere(other: str) -> None:
    body, constants = HOSTS["constants of the module called as the kernel calls its own"]
    assert "`BM` is used at line" in refusal(program(body, f"{constants}\n{other}\n"))


def test_a_parameter_of_the_host_is_no_constant_of_the_module() -> None:
    body, constants = HOSTS["constants of the module called as the kernel calls its own"]
    source = program(body, constants).replace("def forward(self, a, b):", "def forward(self, a, b, BM=32):")
    assert "`BM` is a parameter of `forward`" in refusal(source)


def test_a_kernel_made_anew_on_each_call() -> None:
    kernel = textwrap.indent(
        textwrap.dedent(KERNEL.format(decorators="@triton.jit\n", store=STORE, more="")), "        "
    )
    source = HEADER + HOST.format(body=kernel + textwrap.indent(PLAIN, "        "), constants="", alloc="empty")
    assert "tuned anew" in refusal(source)


def test_a_decorator_of_somebody_else() -> None:
    source = program(PLAIN, decorators="@traced\n@triton.jit\n")
    source = source.replace(HEADER, HEADER + "def traced(kernel):\n    return kernel\n\n\n")
    assert "not decorated with triton.jit alone" in refusal(source)


@pytest.mark.parametrize(
    ("store", "restored"),
    [
        pytest.param(STORE, False, id="written"),
        pytest.param(UPDATE, True, id="updated"),
        pytest.param(
            "tl.atomic_add(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=inside)", True, id="atomic"
        ),
    ],
)
def test_the_fix_asked_for(store: str, restored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = program(PLAIN, store=store, alloc="zeros")
    if restored:
        # The calls around the given one take their time, and once is enough.
        module = sys.modules[type(find_rule("KL201")).__module__]
        monkeypatch.setattr(module, "scaled_calls", lambda context, launch: [context])
    result = fix_source(Request(before, path="k.py", device="h100"), rules=["KL201"], autotune=True)
    assert [one.code for one in result.applied] == ["KL201"], result.refused
    after = result.after
    assert ('restore_value=["c"],' in after) is restored
    configurations = [line for line in after.splitlines() if "triton.Config(" in line]
    assert 2 <= len(configurations) <= 8 and len(set(configurations)) == len(configurations)
    assert fix_source(Request(after, path="k.py", device="h100"), rules=["KL201"], autotune=True).after == after
    _assert_same(before, after, tmp_path)


def test_a_tile_that_suits_the_sizes_at_hand_is_tuned_where_its_rule_is_named() -> None:
    body = "T = 128\nmatmul[(triton.cdiv(M, T), triton.cdiv(N, T))](a, b, c, M, N, K, K, N, BM=T, BN=T, BK=64, num_warps=8)"
    source = program(body).replace("M, N, K = 2048, 1024, 1024", "M, N, K = 4096, 4096, 4096")
    assert not fix_source(Request(source, path="k.py", device="h100"), rules=["KL201"]).applied
    result = fix_source(Request(source, path="k.py", device="h100"), rules=["KL201"], autotune=True)
    assert [one.code for one in result.applied] == ["KL201"], result.refused
    assert fix_source(Request(source, path="k.py", device="h100"), autotune=True).after == source


OPEN = HEADER + KERNEL.format(decorators="@triton.jit\n", store=STORE, more="") + """
def linear(a, b):
    assert a.dtype == torch.float16 and b.dtype == torch.float16
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    {body}
    return c
"""  # fmt: skip
LAUNCH = "matmul[grid](a, b, c, M, N, K, a.stride(0), b.stride(0), BM=T, BN=T, BK=32)"
CONSTANTS = f"T = 32\n    grid = (triton.cdiv(M, T), triton.cdiv(N, T))\n    {LAUNCH}"


def test_open_sizes_are_tuned_for_and_rows_by_their_power_of_two() -> None:
    result = fix_source(Request(OPEN.format(body=CONSTANTS), path="k.py", device="h100"))
    assert [one.code for one in result.applied] == ["KL220"], result.refused
    after = result.after
    assert 'key=["M_BUCKET", "N", "K"]' in after
    assert "sa, sb, M_BUCKET, BM: tl.constexpr" in after
    assert "b.stride(0), M_BUCKET=triton.next_power_of_2(M))" in after
    assert fix_source(Request(after, path="k.py", device="h100")).after == after
    # Neither does any other rule find fault with what was made.
    reading = read_program(Request(after, path="k.py"))
    context = Context(
        reading.program, reading.workloads[0], reading.device, price=lambda w: estimate(w, reading.device)
    )
    found = [f.rule.code for rule in all_rules() if rule.default and not rule.lexical for f in context.ask(rule)]
    assert not found


OPEN_NO_OPS = {
    "the grid does not follow": CONSTANTS.replace("cdiv(M, T), triton.cdiv(N, T)", "cdiv(M, 32), triton.cdiv(N, 32)"),
    "the host chooses by size": CONSTANTS.replace("T = 32", "T = 32 if M > 64 else 16"),
    "the host chooses in a branch": CONSTANTS.replace("T = 32", "T = 32\n    if M > 64:\n        T = 64"),
    "a table": CONSTANTS.replace("T = 32", "T = {'tile': 32}['tile']"),
    "a function": CONSTANTS.replace("T = 32", "T = max(32, 16)"),
    "the caller chooses": CONSTANTS.replace("T = 32", "T = int(a.tile)"),
    "a launch in a branch": "if M > 64:\n        " + CONSTANTS.replace("\n", "\n    "),
    "a tile that is good at most sizes": CONSTANTS.replace("T = 32", "T = 128").replace("BK=32", "BK=64, num_warps=8"),
}  # fmt: skip


@pytest.mark.parametrize("case", OPEN_NO_OPS)
def test_open_sizes_without_a_finding(case: str) -> None:
    result = fix_source(Request(OPEN.format(body=OPEN_NO_OPS[case]), path="k.py", device="h100"), rules=["KL220"])
    assert not result.applied and not result.refused


def test_an_unmasked_tile_does_not_grow() -> None:
    bare = OPEN.format(body=CONSTANTS).replace(", mask=inside", "")
    result = fix_source(Request(bare, path="k.py", device="h100"), rules=["KL220"])
    assert not result.applied


def test_names_do_not_matter() -> None:
    source = OPEN.format(body=CONSTANTS)
    renamed = (
        source.replace("matmul", "f")
        .replace("BM", "P")
        .replace("BN", "Q")
        .replace("BK", "R")
        .replace("T ", "u ")
        .replace("T)", "u)")
        .replace("=T", "=u")
    )
    result = fix_source(Request(renamed, path="k.py", device="h100"), rules=["KL220"])
    assert [one.code for one in result.applied] == ["KL220"], result.refused


def test_one_place_that_launches_at_several_sizes() -> None:
    body = """
        for w, out in ((a, c), (a[:64], c[:64])):
            rows = w.shape[0]
            T = 32
            matmul[(triton.cdiv(rows, T), triton.cdiv(N, T))](w, b, out, rows, N, K, K, N, BM=T, BN=T, BK=32)
    """
    result = fix_source(Request(program(body), path="k.py", device="h100"), rules=["KL201"])
    assert [one.code for one in result.applied] == ["KL201"], result.refused


_RUN_BOTH = """
import importlib.util, sys, torch
from triton.runtime.autotuner import Autotuner
plain = Autotuner.__init__
def timed(self, *args, **kwargs):
    plain(self, *args, **{**kwargs, "do_bench": lambda call, quantiles: (call(), [1.0, 1.0, 1.0])[1]})
Autotuner.__init__ = timed
Autotuner.check_disk_cache = lambda self, key, configs, bench: bench()
torch.set_num_threads(1)
results = []
for path in sys.argv[1:3]:
    spec = importlib.util.spec_from_file_location("m", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.M, module.N, module.K = 70, 45, 33
    torch.manual_seed(0)
    results.append(module.ModelNew()(*module.get_inputs()))
torch.testing.assert_close(*results, rtol=2e-3, atol=2e-3)
"""


def _assert_same(before: str, after: str, folder: Path) -> None:
    """Both compute the same, every configuration tried on the real buffers; where torch and Triton are there."""
    if find_spec("torch") is None or find_spec("triton") is None:
        return
    paths = [folder / "before.py", folder / "after.py"]
    for path, text in zip(paths, (before, after)):
        path.write_text(text)
    (folder / "run.py").write_text(_RUN_BOTH)
    done = subprocess.run(
        [sys.executable, str(folder / "run.py"), *map(str, paths)],
        env={"TRITON_INTERPRET": "1", "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
