"""The other half of evidence rows whose example is a kernel without a launcher, or a launcher without its kernel.

Types and sizes are those that the row's text speaks of; where it names none, ordinary ones.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    """Source to put before and after an example; ``good`` is what follows the good one, None for the same as ``bad``."""

    bad: str = ""
    good: str | None = None
    before: str = ""

    def around(self, example: str, after: str) -> str:
        return "\n".join(textwrap.dedent(part) for part in (self.before, example, after))


def model(call: str, *inputs: str, setup: str = "") -> str:
    """A ``ModelNew`` whose ``forward(x0, x1, ...)`` is ``call``; ``inputs`` are the arguments of ``torch.randn``-like calls."""
    names = ", ".join(f"x{i}" for i in range(len(inputs)))
    return "\n".join(
        [
            "class ModelNew(torch.nn.Module):",
            f"    def forward(self, {names}):",
            *(f"        {line}" for line in [*setup.splitlines(), *call.splitlines()]),
            "",
            "def get_inputs():",
            f"    return [{', '.join(inputs)}]",
        ]
    )


def randn(*shape: int, dtype: str = "float16") -> str:
    if dtype in ("int8", "int32", "int64"):
        return f"torch.randint(0, 8, {shape}, dtype=torch.{dtype})"
    if dtype.startswith("float8"):
        return f"torch.randn({shape}).to(torch.{dtype})"
    return f"torch.randn({shape}, dtype=torch.{dtype})"


def product(
    dtype: str, options: str = "", m: int = 128, n: int = 128, k: int = 4096, tile: str = "BM=128, BN=128, BK=32"
) -> Host:
    """One tile of a product: a is [m, k] and b [k, n], both row-major."""
    call = f"c = torch.empty({m}, {n}, device=x0.device, dtype=torch.float32)\n"
    call += f"k[(1,)](x0, x1, c, {k}, x0.stride(0), x1.stride(0), {tile}{', ' + options if options else ''})\nreturn c"
    return Host(model(call, randn(m, k, dtype=dtype), randn(k, n, dtype=dtype)))


GEMM = """
@triton.jit
def gemm(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    grid_n = tl.cdiv(N, BN)
    m, n = (pid // grid_n) * BM + tl.arange(0, BM), (pid % grid_n) * BN + tl.arange(0, BN)
    r = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for s in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (s + r)[None, :], mask=m[:, None] < M, other=0.0)
        b = tl.load(B + (s + r)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
"""
LINEAR = GEMM.replace("B + (s + r)[:, None] * N + n[None, :]", "B + (s + r)[:, None] + n[None, :] * K")
ROWS = """
@triton.jit
def {name}(X, Y, N, BLOCK: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(Y + r * N + c, tl.load(X + r * N + c, mask=c < N) * 2.0, mask=c < N)
"""
FLAT = """
@triton.jit
def {name}(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n) * 2.0, mask=i < n)
"""
DOUBLED = """
@triton.jit
def double(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n) * 2.0, mask=i < n)
def doubled(x):
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""


def configs(name: str) -> str:
    return f"CFG = [triton.Config({{'{name}': b}}) for b in (32, 64)]"


def torch_code(call: str, *inputs: str) -> Host:
    """Torch code beside a small launch: kernlint reads the host code of programs that launch something."""
    return Host(before=DOUBLED, bad=model(call, *inputs))


HOSTS: dict[str, Host] = {
    "PERF-001": product("float32"),
    "PERF-002": product("bfloat16"),
    "PERF-003": product("int8"),
    "PERF-005": Host(
        model(
            "c = torch.empty(128, 128, device=x0.device, dtype=torch.float32)\n"
            "k[(1,)](x0, x1, c, 4096, x0.stride(0), x1.stride(0), x2, BM=128, BN=128, BK=32)\nreturn c",
            randn(128, 4096),
            randn(4096, 128),
            randn(128, dtype="float32"),
        )
    ),
    "PERF-006": product("float8_e4m3fn"),
    "PERF-011": Host(
        before=GEMM,
        bad=model(
            "c = torch.empty(64, 4096, device=x0.device, dtype=torch.float16)\nmm(x0, x1, c)\nreturn c",
            randn(64, 4096),
            randn(4096, 4096),
        ),
    ),
    "PERF-012": Host(
        before=LINEAR.replace("pid = tl.program_id(0)\n    grid_n = tl.cdiv(N, BN)\n", "")
        .replace("(pid // grid_n)", "tl.program_id(0)")
        .replace("(pid % grid_n)", "tl.program_id(1)"),
        bad=model(
            "y = torch.empty(8, 4096, device=x0.device, dtype=torch.float16)\nlinear(x0, x1, y)\nreturn y",
            randn(8, 4096),
            randn(4096, 4096),
        ),
    ),
    "PERF-013": Host(
        before=configs("BM"), bad="def run(q, o, width, causal):\n    fwd[(1,)](q, o, q.shape[0], 64, width, causal)"
    ),
    "PERF-014": Host(
        before=configs("BT"),
        bad="def run(x):\n    T, D = x.shape\n    y = torch.empty_like(x)\n    norm[(8,)](x, y, T, D)\n    return y",
        good="def run(x):\n    T, D = x.shape\n    y = torch.empty_like(x)\n"
        "    norm[(8,)](x, y, T, triton.next_power_of_2(T), D)\n    return y",
    ),
    "PERF-015": Host(
        before=configs("BT"),
        bad="def run(x):\n    B, T = x.shape\n    y = torch.empty_like(x)\n"
        "    conv[(8,)](x, y, T, 64, NB=triton.cdiv(B * T, 1024))\n    return y",
        good="def run(x):\n    B, T = x.shape\n    y = torch.empty_like(x)\n    conv[(8,)](x, y, T, 64)\n    return y",
    ),
    "PERF-016": Host(
        before=GEMM,
        bad="tuned = triton.autotune(CFG, key=['N', 'K'])(gemm)\ndef run(a, b, c):\n    M, K = a.shape\n"
        "    tuned[(64,)](a, b, c, M, b.shape[1], K)\n    return c",
    ),
    "PERF-018": Host(
        product("float16", "num_warps=4", 128, 256, tile="BM=128, BN=256, BK=64").bad,
        product("float16", "num_warps=8", 128, 256, tile="BM=128, BN=256, BK=64").bad,
    ),
    "PERF-019": Host(
        model(
            "y = torch.empty_like(x0)\nn = x0.numel()\nk[(triton.cdiv(n, 128),)](x0, y, n, BLOCK=128)\nreturn y",
            randn(4096, 4096),
        ),
        model(
            "y = torch.empty_like(x0)\nn = x0.numel()\nk[(triton.cdiv(n, 1024),)](x0, y, n, BLOCK=1024, num_warps=4)\nreturn y",
            randn(4096, 4096),
        ),
    ),
    "PERF-020": Host(
        product("float16", "num_stages=1", 64, 64, tile="BM=64, BN=64, BK=32").bad,
        product("float16", "num_stages=4", 64, 64, tile="BM=64, BN=64, BK=32").bad,
    ),
    "PERF-024": Host(
        before=LINEAR,
        bad=model(
            "y = torch.empty(4, 1024, device=x0.device, dtype=torch.float16)\ngemv_like(x0, x1, y)\nreturn y",
            randn(4, 8192),
            randn(1024, 8192),
        ),
    ),
    "PERF-026": Host(
        model(
            "y = torch.empty_like(x0)\nk[(x0.shape[0],)](x0, x1, y, 128, BLOCK=128)\nreturn y",
            randn(262144, 128),
            randn(128),
        ),
        model(
            "y = torch.empty_like(x0)\nk[(triton.cdiv(x0.shape[0], 16),)](x0, x1, y, 128, x0.shape[0], ROWS=16, BLOCK=128)\nreturn y",
            randn(262144, 128),
            randn(128),
        ),
    ),
    "PERF-034": Host(
        before="""
        @triton.jit
        def kern(q, out, *rest, BLOCK: tl.constexpr):
            pass
        """.replace("*rest, ", "sq, n, ").replace(
            "pass",
            "c = tl.arange(0, BLOCK)\n            r = tl.program_id(0)\n"
            "            tl.store(out + r * n + c, tl.load(q + r * sq + c, mask=c < n), mask=c < n)",
        ),
        bad=model(
            "out = torch.empty(8192, 512, device=x0.device, dtype=torch.float16)\nrun(x0, out)\nreturn out",
            randn(8192, 1536),
        ),
    ),
    "PERF-036": Host(before=FLAT.format(name="kern"), bad=model("return relu2(x0)", randn(4096, 4096))),
    "PERF-037": Host(
        model(
            "y = torch.empty(4096, 512, device=x0.device, dtype=torch.float16)\nk[(4096,)](x0, y, 4096, 4096, BLOCK=512)\nreturn y",
            randn(512, 4096),
        ),
        model(
            "y = torch.empty(4096, 512, device=x0.device, dtype=torch.float16)\nk[(64,)](x0, y, 4096, 4096, BC=512, BL=64)\nreturn y",
            randn(512, 4096),
        ),
    ),
    "PERF-039": Host(
        model(
            "y = torch.empty_like(x0)\nk[(132,)](x0, x1, y, 16384, 4096, BLOCK=4096)\nreturn y",
            randn(16384, 4096),
            randn(4096),
        )
    ),
    "PERF-040": Host(
        model(
            "y = torch.empty_like(x0)\nk[(16384,)](x0, y, 4096, BLOCK=512)\nreturn y",
            randn(16384, 4096, dtype="float32"),
        ),
        model(
            "y = torch.empty_like(x0)\nk[(16384,)](x0, y, 4096, BLOCK=4096)\nreturn y",
            randn(16384, 4096, dtype="float32"),
        ),
    ),
    "PERF-044": Host(
        before=ROWS.format(name="stage1")
        + ROWS.format(name="stage2")
        .replace("* 2.0", ".to(tl.bfloat16) * 2.0")
        .replace("c < N).to", "c < N).to")
        .replace("mask=c < N) .to", "mask=c < N).to"),
        bad=model("return fwd(x0)", randn(16384, 1024, dtype="bfloat16")),
    ),
    "PERF-045": Host(
        model(
            "amax = torch.zeros(1, device=x0.device)\nn = x0.numel()\nk[(triton.cdiv(n, 128),)](x0, amax, n, BLOCK=128)\nreturn amax",
            randn(4096, 4096, dtype="float32"),
        ),
        model(
            "amax = torch.zeros(1, device=x0.device)\nn = x0.numel()\nk[(264,)](x0, amax, n, BLOCK=4096)\nreturn amax",
            randn(4096, 4096, dtype="float32"),
        ),
    ),
    "PERF-060": torch_code("return seq_logp(doubled(x0), x1)", randn(4, 1024, 32768), randn(4, 1024, dtype="int64")),
    "PERF-062": torch_code("return rms(doubled(x0), x1, x2)", randn(16384, 4096), randn(4096), randn(16384, 4096)),
    "PERF-063": torch_code("return quant(doubled(x0))", randn(16384, 4096)),
    "PERF-064": torch_code("return mix(x0, doubled(x1))", randn(16384, 4), randn(16384, 4, 4096)),
    "PERF-067": torch_code(
        "return attn(doubled(x0), x1, x2, x3)",
        *(randn(8, 16, 2048, 64) for _ in range(3)),
        "torch.ones(2048, 2048, dtype=torch.bool)",
    ),
    "PERF-069": Host(
        model(
            "y = torch.empty_like(x0)\nk[(4096,)](x0, x1, y, 2048, 4096)\nreturn y",
            randn(2048, 4096, dtype="float32"),
            randn(2048, 4096, dtype="float32"),
        ),
        model(
            "y = torch.empty_like(x0)\nk[(128,)](x0, x1, y, 2048, 4096, CH=32, BT=64)\nreturn y",
            randn(2048, 4096, dtype="float32"),
            randn(2048, 4096, dtype="float32"),
        ),
    ),
    "PERF-071": Host(
        model(
            "c = torch.empty(64, 64, device=x0.device)\nk[(1,)](x0, x1, c, M=64, N=64, K=64)\nreturn c",
            randn(64, 64),
            randn(64, 64),
        )
    ),
    "PERF-076": Host(
        before="""
        @triton.jit
        def fwd(q, k, v, lens, out, BM: tl.constexpr):
            i = tl.program_id(0) * BM + tl.arange(0, BM)
            tl.store(out + i, tl.load(q + i) + tl.load(k + i) + tl.load(v + i))
        """,
        bad=model(
            "out = torch.empty_like(x0)\nattn_varlen(x0, x1, x2, x3, out)\nreturn out",
            *(randn(65536) for _ in range(3)),
            randn(64, dtype="int32"),
        ),
        good=model(
            "out = torch.empty_like(x0)\nattn_varlen(x0, x1, x2, x3, out, 1024)\nreturn out",
            *(randn(65536) for _ in range(3)),
            randn(64, dtype="int32"),
        ),
    ),
    "PERF-077": Host(
        before=ROWS.format(name="bias_k").replace("X, Y, N", "Y, X, N")
        + ROWS.format(name="bias_masked_k").replace("X, Y, N", "Y, X, V, N"),
        bad=model(
            "add_bias_valid(x0, x1, x2)\nreturn x0",
            randn(16384, 1024),
            randn(1024),
            "torch.ones(16384, dtype=torch.bool)",
        ),
    ),
    "PERF-082": Host(
        before=FLAT.format(name="k"), bad=model("y = torch.empty_like(x0)\nrun(x0, y)\nreturn y", randn(1024, 1024))
    ),
    "PERF-084": Host(
        before="""
        @triton.jit
        def gemm_tma(A, B, C, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m, n = tl.arange(0, BM), tl.arange(0, BN)
            acc = tl.dot(A.load([0, 0]), tl.trans(B.load([0, 0])))
            tl.store(C + m[:, None] * BN + n[None, :], acc)
        def tiles(a, w):
            return 1
        """,
    ),
    "PERF-025": Host(
        before="""
        @triton.jit
        def attn_decode(q, kc, vc, out, lens, D: tl.constexpr, BN: tl.constexpr, N: tl.constexpr = 8192, H: tl.constexpr = 8):
            b, h = tl.program_id(0), tl.program_id(1)
            d, n = tl.arange(0, D), tl.arange(0, BN)
            base = (b * H + h) * N * D
            query = tl.load(q + (b * H + h) * D + d).to(tl.float32)
            top, total, acc = -1e30, 0.0, tl.zeros((D,), tl.float32)
            for s in range(0, N, BN):
                k = tl.load(kc + base + (s + n)[:, None] * D + d[None, :]).to(tl.float32)
                score = tl.sum(k * query[None, :], 1)
                new = tl.maximum(top, tl.max(score, 0))
                p, scale = tl.exp2(score - new), tl.exp2(top - new)
                v = tl.load(vc + base + (s + n)[:, None] * D + d[None, :]).to(tl.float32)
                total = total * scale + tl.sum(p, 0)
                acc = acc * scale + tl.sum(p[:, None] * v, 0)
                top = new
            tl.store(out + (b * H + h) * D + d, (acc / total).to(tl.float16))
        """,
        bad=model(
            "out = torch.empty_like(x0)\ndecode(x0, x1, x2, out, x3)\nreturn out",
            randn(2, 8, 64),
            randn(2, 8, 8192, 64),
            randn(2, 8, 8192, 64),
            randn(2, dtype="int32"),
        ),
    ),
    "PERF-027": Host(
        model(
            "c = torch.empty(16384, 16384, device=x0.device, dtype=torch.float32)\n"
            "k[(128, 128)](x0, x1, c, 16384, 16384, BM=128, BN=128, BK=64)\nreturn c",
            randn(16384, 64),
            randn(64, 16384),
        ),
        model(
            "c = torch.empty(16384, 16384, device=x0.device, dtype=torch.float32)\n"
            "k[(128 * 128,)](x0, x1, c, 16384, 16384, BM=128, BN=128, BK=64)\nreturn c",
            randn(16384, 64),
            randn(64, 16384),
        ),
    ),
    "PERF-046": Host(
        model(
            "dq = torch.zeros(x0.shape, device=x0.device, dtype=torch.float32)\n"
            "k[(2048 // 64,)](x0, x1, dq, 2048, D=64, B=64)\nreturn dq",
            randn(2048, 64),
            randn(2048, 64),
        )
    ),
    "PERF-051": Host(
        model(
            "y = torch.empty(8, device=x0.device)\nk[(8,)](x0, y, 1 << 20, BLOCK=4096, num_warps=8)\nreturn y",
            randn(8, 1 << 20, dtype="float32"),
        )
    ),
    "PERF-052": Host(
        model(
            "y = torch.empty(132, device=x0.device)\nk[(132,)](x0, y, 1 << 18, BLOCK=1024)\nreturn y",
            randn(132, 1 << 18, dtype="float32"),
        )
    ),
    "PERF-053": Host(
        model(
            "c = torch.empty(128, 128, device=x0.device)\n"
            "k[(1,)](x0, x1, c, 4096, flag, 4096, 128, BM=128, BN=128, BK=32)\nreturn c",
            randn(256, 4096),
            randn(4096, 128),
            setup="flag = int(x0.shape[0] > 128)",
        ),
    ),
    "PERF-070": Host(
        model(
            "m, v = torch.empty(8, device=x0.device), torch.empty(8, device=x0.device)\n"
            "k[(8192,)](x0, m, v, 65536, BLOCK=4096)\nreturn m, v",
            randn(8192, 65536, dtype="float32"),
        )
    ),
    "PERF-074": Host(
        before=DOUBLED,
        bad=model(
            "return moe(doubled(x0), x1, x2, x3, x4)",
            randn(64, 1024),
            randn(64, 2, dtype="int64"),
            randn(64, 2),
            randn(64, 1024, 512),
            randn(64, 512, 1024),
        ),
    ),
    "PERF-078": Host(
        before="""
        @triton.jit
        def seg_k(x, offs, ones):
            i = tl.program_id(0)
            tl.store(x + i, tl.load(ones + i) + tl.load(offs + i))
        """,
        bad=model("launch(x0, [0, 16, 32, 48])\nreturn x0", randn(4, 4)),
        good="class ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.run = Launcher('cuda', 64)\n\n    def forward(self, x):\n        self.run(x, [0, 16, 32, 48])\n"
        "        return x\n\ndef get_inputs():\n    return [torch.randn(4, 4)]",
    ),
    "PERF-022": Host(
        "def run(x):\n    T, N = x.shape\n    y = torch.empty_like(x)\n    k[(8,)](x, y, N, T, BLOCK=128)\n    return y"
    ),
    "PERF-035": Host(
        before=GEMM.replace("M, N, K, BM", "M, N, K, sam, sak, sbk, sbn, BM")
        .replace("tl.constexpr)", "tl.constexpr = 64)")
        .replace("tl.constexpr,", "tl.constexpr = 64,")
        .replace("A + m[:, None] * K", "A + m[:, None] * sam")
        .replace("B + (s + r)[:, None] * N + n[None, :]", "B + (s + r)[:, None] * sbk + n[None, :] * sbn")
        + "\nM, N, K, grid = 1024, 2048, 2048, (16 * 32,)\ny = torch.empty(M, N, device='cuda', dtype=torch.float16)\n",
        bad="class ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.weight = torch.nn.Parameter(torch.randn(2048, 2048, dtype=torch.float16))\n\n"
        "    def forward(self, x):\n        forward(self, x)\n        return y\n\n"
        "def get_inputs():\n    return [torch.randn(1024, 2048, dtype=torch.float16)]",
    ),
    "PERF-047": Host(
        before="""
        @triton.jit
        def gemm8(A, B, C, M, N, K, sam, sbk, sbn, BM: tl.constexpr = 128, BN: tl.constexpr = 128, BK: tl.constexpr = 128):
            m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
            r = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for s in range(0, K, BK):
                a = tl.load(A + m[:, None] * sam + (s + r)[None, :])
                b = tl.load(B + (s + r)[:, None] * sbk + n[None, :] * sbn)
                acc = tl.dot(a, b, acc)
            tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))
        """,
        bad="""
        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(4096, 4096).to(torch.float8_e4m3fn))

            def forward(self, x):
                c = torch.empty(4096, 4096, device=x.device, dtype=torch.float16)
                mm8(x, self.w, c)
                return c

        def get_inputs():
            return [torch.randn(4096, 4096).to(torch.float8_e4m3fn)]
        """,
    ),
    "PERF-054": Host(
        before="""
        @triton.jit
        def gathered(x, w, y, sx, BLOCK: tl.constexpr):
            c, r = tl.arange(0, BLOCK), tl.program_id(0)
            tl.store(y + r * BLOCK + c, tl.load(x + r * sx + c) * tl.load(w + c))

        @triton.jit
        def gathering(x, idx, w, y, sx, BLOCK: tl.constexpr):
            c, r = tl.arange(0, BLOCK), tl.program_id(0)
            tl.store(y + r * BLOCK + c, tl.load(x + tl.load(idx + r) * sx + c) * tl.load(w + c))
        """,
        bad="kern = gathered\n"
        + model(
            "y = torch.empty(8192, 1024, device=x0.device, dtype=torch.float16)\nrun(x0, x1, x2, y)\nreturn y",
            randn(65536, 1024),
            randn(8192, dtype="int64"),
            randn(1024),
        ),
        good="kern = gathering\n"
        + model(
            "y = torch.empty(8192, 1024, device=x0.device, dtype=torch.float16)\nrun(x0, x1, x2, y)\nreturn y",
            randn(65536, 1024),
            randn(8192, dtype="int64"),
            randn(1024),
        ),
    ),
    "PERF-055": Host(
        before="""
        @triton.jit
        def fwd(q, k, v, o, N, D: tl.constexpr, GROUP: tl.constexpr = 1):
            h, b, d = tl.program_id(1), tl.program_id(2), tl.arange(0, D)
            row = ((b * 32 + h) * N + tl.program_id(0) * 128) * D
            kv = ((b * (32 // GROUP) + h // GROUP) * N + tl.program_id(0) * 128) * D
            tl.store(o + row + d, tl.load(q + row + d) * tl.load(k + kv + d) + tl.load(v + kv + d))
        """,
        bad=model(
            "o = torch.empty_like(x0)\nattn(x0, x1, x2, o)\nreturn o",
            randn(2, 32, 2048, 128),
            randn(2, 8, 2048, 128),
            randn(2, 8, 2048, 128),
        ),
    ),
    "PERF-057": Host(
        before="""
        @triton.jit
        def rms(x, w, y, D, BLOCK: tl.constexpr):
            r, c = tl.program_id(0), tl.arange(0, BLOCK)
            v = tl.load(x + r * D + c, mask=c < D, other=0.0).to(tl.float32)
            tl.store(y + r * D + c, v * tl.rsqrt(tl.sum(v * v, 0) / D + 1e-6) * tl.load(w + c, mask=c < D), mask=c < D)

        @triton.jit
        def rms_strided(x, w, y, sx, D, BLOCK: tl.constexpr):
            t, h, c = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
            v = tl.load(x + t * sx + h * D + c, mask=c < D, other=0.0).to(tl.float32)
            r = t * tl.num_programs(1) + h
            tl.store(y + r * D + c, v * tl.rsqrt(tl.sum(v * v, 0) / D + 1e-6) * tl.load(w + c, mask=c < D), mask=c < D)
        """,
        bad=model("return qk_norm(x0, x1, 32, 128)", randn(4096, 12288), randn(128)),
    ),
    "PERF-058": Host(
        before=LINEAR + "\ngrid = (32 * 32,)\n",
        bad=model("return linear_gelu(x0, x1, x2)", randn(4096, 1024), randn(4096, 1024), randn(4096)),
    ),
}
