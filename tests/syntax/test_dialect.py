import pytest

from kernlint.syntax import dialect, has_kernel, parse_module

TRITON = "import triton\n@triton.jit\ndef k(x): pass\n"


def module(text):
    return parse_module(text, "k.py")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(TRITON, id="plain"),
        pytest.param("import triton as T\n@T.jit\ndef k(x): pass\n", id="renamed package"),
        pytest.param("from triton import jit\n@jit\ndef k(x): pass\n", id="imported function"),
        pytest.param("from triton import jit as j\n@j\ndef k(x): pass\n", id="renamed function"),
        pytest.param("from triton.runtime.jit import jit\n@jit\ndef k(x): pass\n", id="where it lives"),
        pytest.param("from vllm.triton_utils import tl, triton\n@triton.jit\ndef k(x): pass\n", id="re-exported"),
        pytest.param("import triton\n@triton.jit(do_not_specialize=['n'])\ndef k(n): pass\n", id="with arguments"),
        pytest.param("import triton\n@triton.autotune([], key=[])\n@triton.jit\ndef k(n): pass\n", id="autotuned"),
        pytest.param("import triton\ndef f():\n    def k(x): pass\n    return triton.jit(k)\n", id="by a call"),
        pytest.param(
            "try:\n    import triton\nexcept ImportError:\n    triton = None\n@triton.jit\ndef k(): 0\n", id="try"
        ),
    ],
)
def test_triton(source):
    assert has_kernel(module(source))
    assert dialect(module(source)) is None


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import torch\n@torch.jit.script\ndef k(x): return x\n", id="torch.jit"),
        pytest.param("import numba\n@numba.jit\ndef k(x): return x\n", id="numba on the CPU"),
        pytest.param("import jax\n@jax.jit\ndef k(x): return x\n", id="jax"),
        pytest.param("import triton\nx = triton.cdiv(1, 2)\n", id="a launcher without a kernel"),
        pytest.param("x = '@triton.jit'\n", id="in a string"),
    ],
)
def test_no_kernel(source):
    assert not has_kernel(module(source))
    assert dialect(module(source)) is None


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("from triton.experimental import gluon\n@gluon.jit\ndef k(x): pass\n", "Gluon"),
        (
            "import triton\nfrom triton.language.extra import tlx\n"
            "@triton.jit\ndef k(x):\n    a = tlx.local_alloc(x)\n",
            "TLX",
        ),
        ("import triton\nimport triton.language.extra.tlx as t\n@triton.jit\ndef k(x):\n    t.async_task()\n", "TLX"),
        ("import helion\n@helion.kernel()\ndef k(x): pass\n", "Helion"),
        ("import tilelang\n@tilelang.jit(out_idx=[1])\ndef k(x): pass\n", "TileLang"),
        ("import cutlass.cute as cute\n@cute.kernel\ndef k(x): pass\n", "CuTe DSL"),
        ("from torch.utils.cpp_extension import load_inline\nm = load_inline(name='m', cuda_sources='')\n", "CUDA C++"),
        ("from torch.utils import cpp_extension\nm = cpp_extension.load_inline(name='m')\n", "CUDA C++"),
        ("from numba import cuda\n@cuda.jit\ndef k(x): pass\n", "Numba CUDA"),
    ],
)
def test_other_languages(source, language):
    assert dialect(module(source)) == language


def test_an_unused_extension_is_no_dialect():
    assert dialect(module(TRITON + "import triton.language.extra.tlx as tlx\n")) is None


def test_imports():
    text = "import a.b\nimport c.d as e\nfrom . import f\nfrom ..g import h as i\nfrom j import *\nimport k as l, m\n"
    expected = {"a": "a", "e": "c.d", "f": ".f", "i": "..g.h", "l": "k", "m": "m"}
    assert module(text).imports == expected
