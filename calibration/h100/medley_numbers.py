"""Whole programs of arithmetic on elements, as strangers write them: hashes, generators, special functions, colours, geometry, formats.

Part of :mod:`medley`. Shapes are those of the arguments' names; noise everywhere, so nothing depends on the data.
"""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def mixed_hash(x, y, n, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    """Rounds of Murmur's finaliser."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(x + i, mask=i < n, other=0).to(tl.uint32, bitcast=True)
    for _ in tl.static_range(ROUNDS):
        h = (h ^ (h >> 16)) * 0x85EBCA6B
        h = (h ^ (h >> 13)) * 0xC2B2AE35
        h = h ^ (h >> 16)
    tl.store(y + i, h.to(tl.int32, bitcast=True), mask=i < n)


@triton.jit
def xorshift(y, n, steps, BLOCK: tl.constexpr):
    """The sum of so many numbers of a generator per lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    state = i * 747796405 + 1
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for _ in range(steps):
        state ^= state << 13
        state ^= (state >> 17) & 0x7FFF
        state ^= state << 5
        total += (state & 0xFFFF).to(tl.float32) * (1.0 / 65536)
    tl.store(y + i, total, mask=i < n)


@triton.jit
def string_hash(x, y, n, LENGTH: tl.constexpr, BLOCK: tl.constexpr):
    """FNV of [n, LENGTH] bytes, a string a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.full((BLOCK,), 2166136261, dtype=tl.uint32)
    for k in range(LENGTH):
        c = tl.load(x + i * LENGTH + k, mask=i < n, other=0)
        h = (h ^ c.to(tl.uint32)) * 16777619
    tl.store(y + i, h.to(tl.int32, bitcast=True), mask=i < n)


@triton.jit
def rolling_hash(x, y, n, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    """A polynomial hash of the window that starts at each place, modulo a prime."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.zeros((BLOCK,), dtype=tl.int64)
    for k in range(WINDOW):
        c = tl.load(x + i + k, mask=i + k < n, other=0).to(tl.int64)
        h = (h * 257 + c + 128) % 1000000007
    tl.store(y + i, h.to(tl.int32), mask=i < n)


@triton.jit
def power_mod(x, y, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Repeated squares modulo a prime, in 64 bits."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = tl.load(x + i, mask=i < n, other=0).to(tl.int64) + 200
    result = tl.full((BLOCK,), 1, dtype=tl.int64)
    for k in range(STEPS):
        if k % 2 == 0:
            result = result * base % 998244353
        base = base * base % 998244353
    tl.store(y + i, result.to(tl.int32), mask=i < n)


@triton.jit
def common_divisor(x, other, y, n, BLOCK: tl.constexpr):
    """Euclid's algorithm for so many steps as 8 bits need."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.abs(tl.load(x + i, mask=i < n, other=1)) + 1
    b = tl.abs(tl.load(other + i, mask=i < n, other=1)) + 1
    for _ in range(12):
        r = a % tl.maximum(b, 1)
        a = tl.where(b > 0, b, a)
        b = tl.where(b > 0, r, b)
    tl.store(y + i, a, mask=i < n)


@triton.jit
def bits_apart(x, other, y, n, m, WORDS: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr):
    """Hamming distances of all pairs of codes of WORDS words."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    j = tl.program_id(1) * BM + tl.arange(0, BM)
    total = tl.zeros((BN, BM), dtype=tl.int32)
    for w in range(WORDS):
        a = tl.load(x + i * WORDS + w, mask=i < n, other=0)
        b = tl.load(other + j * WORDS + w, mask=j < m, other=0)
        v = a[:, None] ^ b[None, :]
        v = v - ((v >> 1) & 0x55555555)
        v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
        v = (v + (v >> 4)) & 0x0F0F0F0F
        total += (v * 0x01010101) >> 24
    tl.store(y + i[:, None] * m + j[None, :], total, mask=(i[:, None] < n) & (j[None, :] < m))


@triton.jit
def spread(v):
    """The bits of a number three places apart."""
    v = (v | (v << 16)) & 0x030000FF
    v = (v | (v << 8)) & 0x0300F00F
    v = (v | (v << 4)) & 0x030C30C3
    return (v | (v << 2)) & 0x09249249


@triton.jit
def morton(x, y, n, BLOCK: tl.constexpr):
    """Morton codes of [n, 3] coordinates."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = (tl.load(x + i * 3, mask=i < n, other=0.0) * 100.0).to(tl.int32) & 1023
    b = (tl.load(x + i * 3 + 1, mask=i < n, other=0.0) * 100.0).to(tl.int32) & 1023
    c = (tl.load(x + i * 3 + 2, mask=i < n, other=0.0) * 100.0).to(tl.int32) & 1023
    tl.store(y + i, spread(a) | (spread(b) << 1) | (spread(c) << 2), mask=i < n)


@triton.jit
def unpack_bits(x, y, n, BLOCK: tl.constexpr):
    """32 signs a word, as floats."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(x + i, mask=i < n, other=0)
    shift = tl.arange(0, 32)
    bit = (word[:, None] >> shift[None, :]) & 1
    tl.store(y + i[:, None] * 32 + shift[None, :], bit.to(tl.float32) * 2.0 - 1.0, mask=i[:, None] < n)


@triton.jit
def great_circle(x, other, y, n, BLOCK: tl.constexpr):
    """Distances on a sphere, in doubles, of places stored as [n, 2]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + i * 2, mask=inside, other=0.0)
    b = tl.load(x + i * 2 + 1, mask=inside, other=0.0)
    c = tl.load(other + i * 2, mask=inside, other=0.0)
    d = tl.load(other + i * 2 + 1, mask=inside, other=0.0)
    u = tl.sin((c - a) * 0.5)
    v = tl.sin((d - b) * 0.5)
    h = u * u + tl.cos(a) * tl.cos(c) * v * v
    tl.store(y + i, 12742.0 * tl.sqrt(h / (1.0 + h)), mask=inside)


@triton.jit
def kepler(x, y, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Newton's steps for the eccentric anomaly."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = tl.load(x + i, mask=i < n, other=0.0)
    e = m
    for _ in range(STEPS):
        e = e - (e - 0.3 * tl.sin(e) - m) / (1.0 - 0.3 * tl.cos(e))
    tl.store(y + i, e, mask=i < n)


@triton.jit
def polynomial(x, y, n, DEGREE: tl.constexpr, BLOCK: tl.constexpr):
    """Horner's rule with coefficients known in advance."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    r = v * 0.0 + 1.0
    for k in tl.static_range(DEGREE):
        r = r * v + 1.0 / (k + 1.5)
    tl.store(y + i, r, mask=i < n)


@triton.jit
def log_gamma(x, y, n, BLOCK: tl.constexpr):
    """Stirling's series after six shifts of the argument."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.abs(tl.load(x + i, mask=i < n, other=1.0)) + 0.5
    shift = tl.zeros((BLOCK,), dtype=tl.float32)
    for _ in tl.static_range(6):
        shift += tl.log(v)
        v += 1.0
    r = 1.0 / v
    series = r * (0.08333333 - r * r * (0.00277778 - r * r * 0.00079365))
    tl.store(y + i, (v - 0.5) * tl.log(v) - v + 0.9189385 + series - shift, mask=i < n)


@triton.jit
def option_price(x, other, y, n, BLOCK: tl.constexpr):
    """Black and Scholes, call and put."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.abs(tl.load(x + i, mask=i < n, other=1.0)) + 1.0
    t = tl.abs(tl.load(other + i, mask=i < n, other=1.0)) + 0.1
    root = 0.3 * tl.sqrt(t)
    d = (tl.log(s) + 0.065 * t) / root
    call = s * 0.5 * (1.0 + tl.erf(d * 0.7071068)) - tl.exp(-0.02 * t) * 0.5 * (1.0 + tl.erf((d - root) * 0.7071068))
    tl.store(y + i, call, mask=i < n)
    tl.store(y + n + i, call - s + tl.exp(-0.02 * t), mask=i < n)


@triton.jit
def random_paths(y, n, steps, seed, BLOCK: tl.constexpr):
    """Means of geometric walks, a path a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.full((BLOCK,), 1.0, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for t in range(steps):
        value *= tl.exp(0.01 * tl.randn(seed, i * steps + t))
        total += value
    tl.store(y + i, total / steps, mask=i < n)


@triton.jit
def escape_time(y, width, height, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """The Mandelbrot set, all steps always taken."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cr = (i % width) * 3.0 / width - 2.0
    ci = (i // width) * 2.0 / height - 1.0
    zr = tl.zeros((BLOCK,), dtype=tl.float32)
    zi = tl.zeros((BLOCK,), dtype=tl.float32)
    count = tl.zeros((BLOCK,), dtype=tl.int32)
    for _ in range(STEPS):
        inside = zr * zr + zi * zi < 4.0
        new = zr * zr - zi * zi + cr
        zi = tl.where(inside, 2.0 * zr * zi + ci, zi)
        zr = tl.where(inside, new, zr)
        count += inside.to(tl.int32)
    tl.store(y + i, count, mask=i < width * height)


@triton.jit
def hue(x, y, n, BLOCK: tl.constexpr):
    """Hue, saturation and value of bytes [n, 3], as floats by planes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    r = tl.load(x + i * 3, mask=inside, other=0).to(tl.float32) / 255.0
    g = tl.load(x + i * 3 + 1, mask=inside, other=0).to(tl.float32) / 255.0
    b = tl.load(x + i * 3 + 2, mask=inside, other=0).to(tl.float32) / 255.0
    top = tl.maximum(r, tl.maximum(g, b))
    span = top - tl.minimum(r, tl.minimum(g, b))
    safe = tl.where(span > 0.0, span, 1.0)
    h = tl.where(top == r, (g - b) / safe, tl.where(top == g, 2.0 + (b - r) / safe, 4.0 + (r - g) / safe)) / 6.0
    tl.store(y + i, h - tl.floor(h), mask=inside)
    tl.store(y + n + i, tl.where(top > 0.0, span / tl.maximum(top, 1e-6), 0.0), mask=inside)
    tl.store(y + 2 * n + i, top, mask=inside)


@triton.jit
def blend_bytes(x, other, alpha, y, n, BLOCK: tl.constexpr):
    """Two images mixed by a third, in integers."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(alpha + i, mask=i < n, other=0).to(tl.int32)
    v = tl.load(x + i, mask=i < n, other=0).to(tl.int32) * a
    v += tl.load(other + i, mask=i < n, other=0).to(tl.int32) * (255 - a)
    tl.store(y + i, ((v + 127) // 255).to(tl.uint8), mask=i < n)


@triton.jit
def fixed_point(x, other, y, n, BLOCK: tl.constexpr):
    """Products of Q16 numbers, rounded and kept within 32 bits."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0).to(tl.int64) * tl.load(other + i, mask=i < n, other=0).to(tl.int64)
    v = (v + 32768) >> 16
    v = tl.minimum(tl.maximum(v, -2147483648), 2147483647)
    tl.store(y + i, v.to(tl.int32), mask=i < n)


@triton.jit
def rotate_points(q, x, y, n, BLOCK: tl.constexpr):
    """Points [n, 3] turned by quaternions [n, 4]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    w = tl.load(q + i * 4, mask=m, other=0.0)
    a = tl.load(q + i * 4 + 1, mask=m, other=0.0)
    b = tl.load(q + i * 4 + 2, mask=m, other=0.0)
    c = tl.load(q + i * 4 + 3, mask=m, other=0.0)
    u = tl.load(x + i * 3, mask=m, other=0.0)
    v = tl.load(x + i * 3 + 1, mask=m, other=0.0)
    t = tl.load(x + i * 3 + 2, mask=m, other=0.0)
    d = 2.0 * (b * t - c * v)
    e = 2.0 * (c * u - a * t)
    f = 2.0 * (a * v - b * u)
    tl.store(y + i * 3, u + w * d + b * f - c * e, mask=m)
    tl.store(y + i * 3 + 1, v + w * e + c * d - a * f, mask=m)
    tl.store(y + i * 3 + 2, t + w * f + a * e - b * d, mask=m)


@triton.jit
def determinant(x, y, n, BLOCK: tl.constexpr):
    """Determinants of [n, 3, 3]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i * 9, mask=m, other=0.0)
    b = tl.load(x + i * 9 + 1, mask=m, other=0.0)
    c = tl.load(x + i * 9 + 2, mask=m, other=0.0)
    d = tl.load(x + i * 9 + 3, mask=m, other=0.0)
    e = tl.load(x + i * 9 + 4, mask=m, other=0.0)
    f = tl.load(x + i * 9 + 5, mask=m, other=0.0)
    g = tl.load(x + i * 9 + 6, mask=m, other=0.0)
    h = tl.load(x + i * 9 + 7, mask=m, other=0.0)
    k = tl.load(x + i * 9 + 8, mask=m, other=0.0)
    tl.store(y + i, a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g), mask=m)


@triton.jit
def requantise(x, scale, y, n, C, BLOCK: tl.constexpr):
    """int32 sums to bytes by a scale a channel, channels last."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0).to(tl.float32) * tl.load(scale + i % C, mask=i < n, other=0.0)
    v = tl.floor(tl.minimum(tl.maximum(v, -128.0), 127.0) + 0.5)
    tl.store(y + i, v.to(tl.int8), mask=i < n)


@triton.jit
def round_at_random(x, y, n, seed, BLOCK: tl.constexpr):
    """fp32 to bf16 up or down at random."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x + i, mask=i < n, other=0.0).to(tl.int32, bitcast=True)
    bits = (bits + (tl.randint(seed, i).to(tl.int32) & 0xFFFF)) & -65536
    tl.store(y + i, bits.to(tl.float32, bitcast=True).to(tl.bfloat16), mask=i < n)


@triton.jit
def companding(x, y, n, BLOCK: tl.constexpr):
    """mu-law, to bytes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    v = tl.where(v < 0.0, -1.0, 1.0) * tl.log(1.0 + 255.0 * tl.minimum(tl.abs(v), 1.0)) / 5.545177
    tl.store(y + i, ((v + 1.0) * 127.5).to(tl.uint8), mask=i < n)


@triton.jit
def gelu_backward(x, g, y, n, BLOCK: tl.constexpr):
    """The gradient of gelu."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    d = 0.5 * (1.0 + tl.erf(v * 0.70710678)) + v * tl.exp(-0.5 * v * v) * 0.39894228
    tl.store(y + i, (tl.load(g + i, mask=i < n, other=0.0).to(tl.float32) * d).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def march(y, n, width, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Rays marched to a torus."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = (i % width) * 2.0 / width - 1.0
    b = (i // width) * 2.0 / width - 1.0
    r = 1.0 / tl.sqrt(a * a + b * b + 1.0)
    t = tl.zeros((BLOCK,), dtype=tl.float32)
    for _ in range(STEPS):
        u = a * r * t
        v = b * r * t
        w = r * t - 3.0
        ring = tl.sqrt(u * u + w * w) - 1.0
        t += tl.sqrt(ring * ring + v * v) - 0.3
    tl.store(y + i, t, mask=i < n)


@triton.jit
def spheres(centres, y, n, width, count, BLOCK: tl.constexpr):
    """The nearest of so many spheres [count, 4] that a ray meets."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = (i % width) * 2.0 / width - 1.0
    b = (i // width) * 2.0 / width - 1.0
    r = 1.0 / tl.sqrt(a * a + b * b + 1.0)
    best = tl.full((BLOCK,), 1e30, dtype=tl.float32)
    for s in range(count):
        u = tl.load(centres + s * 4)
        v = tl.load(centres + s * 4 + 1)
        w = tl.load(centres + s * 4 + 2) + 4.0
        d = tl.load(centres + s * 4 + 3)
        along = (a * u + b * v + w) * r
        gap = along * along - (u * u + v * v + w * w - d * d)
        t = along - tl.sqrt(tl.maximum(gap, 0.0))
        best = tl.where((gap > 0.0) & (t > 0.0) & (t < best), t, best)
    tl.store(y + i, best, mask=i < n)


@triton.jit
def exact_square_root(x, y, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Newton's steps towards a square root."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.abs(tl.load(x + i, mask=i < n, other=1.0)) + 1.0
    r = v
    for _ in range(STEPS):
        r = 0.5 * (r + v / r)
    tl.store(y + i, r, mask=i < n)


@triton.jit
def spherical(x, y, n, BLOCK: tl.constexpr):
    """Nine harmonics of directions [n, 3], as [n, 9]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i * 3, mask=m, other=0.0)
    b = tl.load(x + i * 3 + 1, mask=m, other=0.0)
    c = tl.load(x + i * 3 + 2, mask=m, other=0.0)
    tl.store(y + i * 9, a * 0.0 + 0.2820948, mask=m)
    tl.store(y + i * 9 + 1, 0.4886025 * b, mask=m)
    tl.store(y + i * 9 + 2, 0.4886025 * c, mask=m)
    tl.store(y + i * 9 + 3, 0.4886025 * a, mask=m)
    tl.store(y + i * 9 + 4, 1.0925484 * a * b, mask=m)
    tl.store(y + i * 9 + 5, 1.0925484 * b * c, mask=m)
    tl.store(y + i * 9 + 6, 0.3153916 * (3.0 * c * c - 1.0), mask=m)
    tl.store(y + i * 9 + 7, 1.0925484 * a * c, mask=m)
    tl.store(y + i * 9 + 8, 0.5462742 * (a * a - b * b), mask=m)


@triton.jit
def complex_product(x, other, y, n, BLOCK: tl.constexpr):
    """Products of complex numbers stored as pairs."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + 2 * i, mask=m, other=0.0)
    b = tl.load(x + 2 * i + 1, mask=m, other=0.0)
    c = tl.load(other + 2 * i, mask=m, other=0.0)
    d = tl.load(other + 2 * i + 1, mask=m, other=0.0)
    tl.store(y + 2 * i, a * c - b * d, mask=m)
    tl.store(y + 2 * i + 1, a * d + b * c, mask=m)


def programs() -> tuple:
    """Kernel, names of parameters, their values, how it is launched."""
    b = Buffer
    plain = ("n", "BLOCK", "num_warps")
    small, large = (1 << 15, 256, 4), (1 << 22, 1024, 4)

    def one(kernel, dtype, *more, inputs=1, width=1, wide=1, out=None, **constants):
        """A launch over n elements whose tensors have ``width`` numbers each, the result ``wide`` of them."""

        def made(n, BLOCK, num_warps):
            given = [b(name, dtype, n * width) for name in ("x", "other", "third")[:inputs]]
            y = b("y", out or dtype, n * wide)
            return Launch(kernel, (*given, y, n, *more), {**constants, "BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps)

        return made

    return (
        (mixed_hash, plain, (small, large), one(mixed_hash, "int32", ROUNDS=1)),
        (mixed_hash, plain, ((1 << 13, 128, 2), (1 << 23, 512, 4)), one(mixed_hash, "int32", ROUNDS=6)),
        (xorshift, plain, (small, large), one(xorshift, "float32", 40, inputs=0)),
        (string_hash, plain, (small, (1 << 20, 256, 8)), one(string_hash, "uint8", width=32, out="int32", LENGTH=32)),
        (rolling_hash, plain, (small, large), one(rolling_hash, "int8", out="int32", WINDOW=16)),
        (power_mod, plain, (small, (1 << 20, 256, 4)), one(power_mod, "int32", STEPS=20)),
        (common_divisor, plain, (small, large), one(common_divisor, "int32", inputs=2)),
        (
            bits_apart,
            ("n", "m", "BN", "BM", "num_warps"),
            ((256, 512, 32, 32, 4), (4096, 4096, 64, 64, 4), (2048, 8192, 16, 128, 8)),
            lambda n, m, BN, BM, w: Launch(
                bits_apart,
                (b("x", "int32", n * 8), b("other", "int32", m * 8), b("y", "int32", n * m), n, m),
                {"WORDS": 8, "BN": BN, "BM": BM},
                (cdiv(n, BN), cdiv(m, BM)),
                w,
            ),
        ),
        (morton, plain, (small, large), one(morton, "float32", width=3, out="int32")),
        (unpack_bits, plain, ((1 << 12, 32, 4), (1 << 19, 64, 4)), one(unpack_bits, "int32", wide=32, out="float32")),
        (great_circle, plain, ((1 << 14, 128, 4), (1 << 21, 256, 8)), one(great_circle, "float64", inputs=2, width=2)),
        (kepler, plain, ((1 << 14, 128, 4), (1 << 20, 256, 4)), one(kepler, "float64", STEPS=5)),
        (kepler, plain, ((1 << 14, 256, 4), (1 << 22, 1024, 8)), one(kepler, "float32", STEPS=8)),
        (polynomial, plain, ((1 << 15, 256, 4), (1 << 22, 512, 4)), one(polynomial, "float64", DEGREE=20)),
        (log_gamma, plain, (small, large), one(log_gamma, "float32")),
        (option_price, plain, (small, large), one(option_price, "float32", inputs=2, wide=2)),
        (option_price, plain, ((1 << 14, 128, 4), (1 << 21, 256, 4)), one(option_price, "float64", inputs=2, wide=2)),
        (random_paths, plain, ((1 << 14, 256, 4), (1 << 18, 256, 4)), one(random_paths, "float32", 32, 7, inputs=0)),
        (
            escape_time,
            ("width", "height", "BLOCK", "num_warps"),
            ((256, 192, 128, 4), (1920, 1080, 256, 4)),
            lambda W, H, B, w: Launch(
                escape_time, (b("y", "int32", W * H), W, H), {"STEPS": 96, "BLOCK": B}, (cdiv(W * H, B),), w
            ),
        ),
        (hue, plain, ((1 << 15, 256, 4), (1 << 22, 512, 4)), one(hue, "uint8", width=3, wide=3, out="float32")),
        (blend_bytes, plain, ((1 << 17, 1024, 4), (1 << 25, 1024, 4)), one(blend_bytes, "uint8", inputs=3)),
        (fixed_point, plain, (small, large), one(fixed_point, "int32", inputs=2)),
        (
            rotate_points,
            plain,
            (small, (1 << 21, 256, 4)),
            lambda n, B, w: Launch(
                rotate_points,
                (b("q", "float32", 4 * n), b("x", "float32", 3 * n), b("y", "float32", 3 * n), n),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (determinant, plain, (small, (1 << 21, 128, 4)), one(determinant, "float32", width=9)),
        (determinant, plain, (small, (1 << 20, 512, 4)), one(determinant, "float64", width=9)),
        (
            requantise,
            ("n", "C", "BLOCK", "num_warps"),
            ((1 << 17, 96, 512, 4), (1 << 24, 320, 1024, 4)),
            lambda n, C, B, w: Launch(
                requantise,
                (b("x", "int32", n), b("scale", "float32", C), b("y8", "int8", n), n, C),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (round_at_random, plain, (small, (1 << 24, 1024, 4)), one(round_at_random, "float32", 11, out="bfloat16")),
        (companding, plain, (small, (1 << 24, 2048, 4)), one(companding, "float16", out="uint8")),
        (gelu_backward, plain, (small, (1 << 24, 2048, 8)), one(gelu_backward, "bfloat16", inputs=2)),
        (march, plain, ((1 << 15, 256, 4), (1 << 21, 256, 4)), one(march, "float32", 1024, inputs=0, STEPS=40)),
        (
            spheres,
            ("n", "count", "BLOCK", "num_warps"),
            ((1 << 15, 64, 128, 4), (1 << 20, 100, 256, 4), (1 << 20, 16, 1024, 8)),
            lambda n, c, B, w: Launch(
                spheres,
                (b("centres", "float32", c * 4), b("y", "float32", n), n, 1024, c),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (exact_square_root, plain, (small, large), one(exact_square_root, "float32", STEPS=10)),
        (exact_square_root, plain, (small, (1 << 20, 256, 4)), one(exact_square_root, "float64", STEPS=10)),
        (spherical, plain, (small, (1 << 20, 256, 4)), one(spherical, "float32", width=3, wide=9)),
        (complex_product, plain, (small, large), one(complex_product, "float32", inputs=2, width=2, wide=2)),
        (
            complex_product,
            plain,
            ((1 << 16, 128, 2), (1 << 23, 512, 4)),
            one(complex_product, "float16", inputs=2, width=2, wide=2),
        ),
    )
