"""What is worked out along one axis and spread over a tile, functions of doubles among it. Part of :mod:`kinds_2`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def rotate_by_place(x, pos, y, H, log2_base, HALF: tl.constexpr, BH: tl.constexpr):
    """Rotary embedding: angles in doubles, worked out once a token for all heads."""
    tok = tl.program_id(0)
    f = tl.arange(0, HALF)
    h = tl.arange(0, BH)
    angle = tl.load(pos + tok).to(tl.float64) * tl.exp2(f.to(tl.float64) * (-1.0 / HALF) * log2_base)
    c = tl.cos(angle).to(tl.float32)[None, :]
    s = tl.sin(angle).to(tl.float32)[None, :]
    at = tok * H * HALF * 2 + h[:, None] * (2 * HALF) + f[None, :]
    m = (h < H)[:, None]
    a = tl.load(x + at, mask=m, other=0.0).to(tl.float32)
    v = tl.load(x + at + HALF, mask=m, other=0.0).to(tl.float32)
    tl.store(y + at, (a * c - v * s).to(tl.float16), mask=m)
    tl.store(y + at + HALF, (v * c + a * s).to(tl.float16), mask=m)


@triton.jit
def rotate_by_float_place(x, pos, y, H, log_base, HALF: tl.constexpr, BH: tl.constexpr):
    """The same in fp32."""
    tok = tl.program_id(0)
    f = tl.arange(0, HALF)
    h = tl.arange(0, BH)
    angle = tl.load(pos + tok).to(tl.float32) * tl.exp(-f.to(tl.float32) / HALF * log_base)
    c = tl.cos(angle)[None, :]
    s = tl.sin(angle)[None, :]
    at = tok * H * HALF * 2 + h[:, None] * (2 * HALF) + f[None, :]
    m = (h < H)[:, None]
    a = tl.load(x + at, mask=m, other=0.0).to(tl.float32)
    v = tl.load(x + at + HALF, mask=m, other=0.0).to(tl.float32)
    tl.store(y + at, (a * c - v * s).to(tl.float16), mask=m)
    tl.store(y + at + HALF, (v * c + a * s).to(tl.float16), mask=m)


@triton.jit
def time_embedding(t, y, n, log_base, HALF: tl.constexpr, BN: tl.constexpr):
    """Sines and cosines of times by frequencies, a tile of both."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    f = tl.arange(0, HALF)
    freq = tl.exp(-log_base * f.to(tl.float32) / HALF)
    arg = tl.load(t + i, mask=i < n, other=0.0)[:, None] * freq[None, :]
    at = y + i[:, None] * (2 * HALF) + f[None, :]
    tl.store(at, tl.cos(arg), mask=(i < n)[:, None])
    tl.store(at + HALF, tl.sin(arg), mask=(i < n)[:, None])


@triton.jit
def fourier_features_double(x, w, y, n, F: tl.constexpr, BN: tl.constexpr):
    """Sines of products in doubles."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    f = tl.arange(0, F)
    m = (i < n)[:, None]
    phase = tl.load(x + i, mask=i < n, other=0.0)[:, None] * tl.load(w + f)[None, :]
    tl.store(y + i[:, None] * F + f[None, :], tl.sin(6.283185307179586 * phase), mask=m)


@triton.jit
def decayed_rows(x, slope, y, T, BT: tl.constexpr, D: tl.constexpr):
    """Rows faded by how far they lie from the last, each head by its own slope."""
    h = tl.program_id(1)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.arange(0, D)
    w = tl.exp(-tl.load(slope + h) * tl.abs((T - 1 - t).to(tl.float32)))
    g = w / (1.0 + w)
    m = (t < T)[:, None]
    at = (h * T + t[:, None]) * D + d[None, :]
    tl.store(y + at, (tl.load(x + at, mask=m, other=0.0).to(tl.float32) * g[:, None]).to(tl.float16), mask=m)


@triton.jit
def windowed_frames(x, y, hop, frames, N: tl.constexpr, BF: tl.constexpr):
    """Frames of a signal under a raised cosine."""
    f = tl.program_id(0) * BF + tl.arange(0, BF)
    i = tl.arange(0, N)
    w = 0.5 - 0.5 * tl.cos(6.2831853 / N * i.to(tl.float32))
    m = (f < frames)[:, None]
    v = tl.load(x + f[:, None] * hop + i[None, :], mask=m, other=0.0)
    tl.store(y + f[:, None] * N + i[None, :], v * w[None, :], mask=m)


@triton.jit
def pooled_haversine(lat, lon, clat, clon, out, n, K: tl.constexpr, BN: tl.constexpr):
    """The nearest of K places on a sphere, in doubles."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    m = i < n
    p = tl.load(lat + i, mask=m, other=0.0)
    q = tl.load(clat + k)
    a = tl.sin(0.5 * (p[:, None] - q[None, :]))
    b = tl.sin(0.5 * (tl.load(lon + i, mask=m, other=0.0)[:, None] - tl.load(clon + k)[None, :]))
    h = a * a + tl.cos(p)[:, None] * tl.cos(q)[None, :] * b * b
    tl.store(out + i, tl.min(h, axis=1), mask=m)


@triton.jit
def planet_place(t, ecc, x, y, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Kepler's equation by Newton's method in doubles."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    mean = tl.load(t + i, mask=m, other=0.0)
    e = 0.1 + 0.05 * tl.abs(tl.load(ecc + i, mask=m, other=0.0))
    a = mean
    for _ in range(STEPS):
        a = a - (a - e * tl.sin(a) - mean) / (1.0 - e * tl.cos(a))
    tl.store(x + i, tl.cos(a) - e, mask=m)
    tl.store(y + i, tl.sqrt(tl.abs(1.0 - e * e)) * tl.sin(a), mask=m)


@triton.jit
def price_options(s, k, v, call, n, rate, BLOCK: tl.constexpr):
    """Prices of options in doubles."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    spot = tl.abs(tl.load(s + i, mask=m, other=1.0)) + 1.0
    strike = tl.abs(tl.load(k + i, mask=m, other=1.0)) + 1.0
    vol = tl.abs(tl.load(v + i, mask=m, other=1.0)) + 0.1
    d1 = (tl.log(spot / strike) + (rate + 0.5 * vol * vol)) / vol
    d2 = d1 - vol
    c1 = 0.5 * (1.0 + tl.erf(d1 * 0.7071067811865476))
    c2 = 0.5 * (1.0 + tl.erf(d2 * 0.7071067811865476))
    tl.store(call + i, spot * c1 - strike * tl.exp(-rate + 0.0 * vol) * c2, mask=m)


@triton.jit
def legendre_values(x, y, n, L: tl.constexpr, BLOCK: tl.constexpr):
    """Legendre polynomials up to order L in doubles, written as they come."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    p0 = v * 0.0 + 1.0
    p1 = v
    for k in range(1, L):
        p2 = ((2 * k + 1) * v * p1 - k * p0) / (k + 1)
        tl.store(y + k * n + i, p2, mask=m)
        p0 = p1
        p1 = p2


@triton.jit
def scaled_by_both(x, rows_of, cols_of, y, R, C, BR: tl.constexpr, BC: tl.constexpr):
    """A matrix over the roots of its row and column sums."""
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    a = 1.0 / tl.sqrt(tl.abs(tl.load(rows_of + r, mask=r < R, other=1.0)) + 1e-6)
    d = 1.0 / tl.sqrt(tl.abs(tl.load(cols_of + c, mask=c < C, other=1.0)) + 1e-6)
    m = (r < R)[:, None] & (c < C)[None, :]
    at = r[:, None] * C + c[None, :]
    tl.store(y + at, tl.load(x + at, mask=m, other=0.0) * a[:, None] * d[None, :], mask=m)


@triton.jit
def radial_basis(x, c, y, n, K: tl.constexpr, BN: tl.constexpr):
    """Distances in doubles, smeared over K Gaussians and cut off by a cosine."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    m = i < n
    d = tl.sqrt(tl.abs(tl.load(x + i, mask=m, other=0.0)))
    cut = 0.5 * (1.0 + tl.cos(d * 0.6283185307))
    g = d[:, None] - tl.load(c + k)[None, :]
    tl.store(y + i[:, None] * K + k[None, :], cut[:, None] * tl.exp(-10.0 * g * g), mask=m[:, None])


@triton.jit
def split_fields(word, scale, y, n, G: tl.constexpr, BN: tl.constexpr):
    """Eight numbers of four bits a word, each word with a scale of its own that is a quotient and a power of two."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    j = tl.arange(0, 8)
    m = i < n
    w = tl.load(word + i, mask=m, other=0)
    s = tl.exp2((tl.load(scale + i // G, mask=m, other=0) % 16).to(tl.float32) - 8.0)
    v = ((w[:, None] >> (4 * j)[None, :]) & 15).to(tl.float32) - 8.0
    tl.store(y + i[:, None] * 8 + j[None, :], (v * s[:, None]).to(tl.float16), mask=m[:, None])


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def rope(kernel, place, last):
        return lambda T, H, HALF, num_warps: Launch(
            kernel,
            (
                b("x", "float16", T * H * HALF * 2),
                b("pos", place, T, 30000),
                b("y", "float16", T * H * HALF * 2),
                H,
                last,
            ),
            {"HALF": HALF, "BH": 1 << (H - 1).bit_length()},
            (T,),
            num_warps,
        )

    return (
        (
            rotate_by_place,
            ((2048, 16, 32, 2), (16384, 32, 64, 4), (32768, 8, 64, 4)),
            rope(rotate_by_place, "int64", 13.287712),
        ),
        (
            rotate_by_float_place,
            ((2048, 16, 32, 2), (16384, 32, 64, 4), (65536, 8, 64, 4)),
            rope(rotate_by_float_place, "int32", 9.21034),
        ),
        (
            time_embedding,
            ((512, 128, 8, 4), (65536, 128, 16, 4)),
            lambda n, HALF, BN, num_warps: Launch(
                time_embedding,
                (b("x", "float32", n), b("y", "float32", n * HALF * 2), n, 9.21034),
                {"HALF": HALF, "BN": BN},
                (cdiv(n, BN),),
                num_warps,
            ),
        ),
        (
            fourier_features_double,
            ((4096, 64, 16, 4), (200000, 32, 32, 4)),
            lambda n, F, BN, num_warps: Launch(
                fourier_features_double,
                (b("x", "float64", n), b("w", "float64", F), b("y", "float64", n * F), n),
                {"F": F, "BN": BN},
                (cdiv(n, BN),),
                num_warps,
            ),
        ),
        (
            decayed_rows,
            ((16, 2048, 32, 128, 4), (64, 16384, 64, 64, 4)),
            lambda H, T, BT, D, num_warps: Launch(
                decayed_rows,
                (b("x", "float16", H * T * D), b("slope", "float32", H), b("y", "float16", H * T * D), T),
                {"BT": BT, "D": D},
                (cdiv(T, BT), H),
                num_warps,
            ),
        ),
        (
            windowed_frames,
            ((160000, 160, 512, 4, 4), (4000000, 256, 1024, 2, 4)),
            lambda T, hop, N, BF, num_warps: Launch(
                windowed_frames,
                (b("x", "float32", T), b("y", "float32", (T - N) // hop * N), hop, (T - N) // hop),
                {"N": N, "BF": BF},
                (cdiv((T - N) // hop, BF),),
                num_warps,
            ),
        ),
        (
            pooled_haversine,
            ((10000, 16, 32, 4), (200000, 32, 64, 4)),
            lambda n, K, BN, num_warps: Launch(
                pooled_haversine,
                (
                    b("x", "float64", n),
                    b("v", "float64", n),
                    b("w", "float64", K),
                    b("w2", "float64", K),
                    b("y", "float64", n),
                    n,
                ),
                {"K": K, "BN": BN},
                (cdiv(n, BN),),
                num_warps,
            ),
        ),
        (
            planet_place,
            ((50000, 8, 128, 4), (2000000, 6, 256, 4)),
            lambda n, STEPS, BLOCK, num_warps: Launch(
                planet_place,
                (b("x", "float64", n), b("v", "float64", n), b("y", "float64", n), b("z", "float64", n), n),
                {"STEPS": STEPS, "BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            price_options,
            ((65536, 256, 4), (4000000, 1024, 4)),
            lambda n, BLOCK, num_warps: Launch(
                price_options,
                (b("x", "float64", n), b("v", "float64", n), b("u", "float64", n), b("y", "float64", n), n, 0.03),
                {"BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            legendre_values,
            ((20000, 32, 128, 4), (500000, 16, 256, 4)),
            lambda n, L, BLOCK, num_warps: Launch(
                legendre_values,
                (b("x", "float64", n), b("y", "float64", n * L), n),
                {"L": L, "BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            scaled_by_both,
            ((1000, 2000, 16, 64, 4), (8192, 8192, 32, 128, 8)),
            lambda R, C, BR, BC, num_warps: Launch(
                scaled_by_both,
                (b("x", "float32", R * C), b("r", "float32", R), b("c", "float32", C), b("y", "float32", R * C), R, C),
                {"BR": BR, "BC": BC},
                (cdiv(R, BR), cdiv(C, BC)),
                num_warps,
            ),
        ),
        (
            radial_basis,
            ((30000, 32, 32, 4), (400000, 64, 32, 4)),
            lambda n, K, BN, num_warps: Launch(
                radial_basis,
                (b("x", "float64", n), b("w", "float64", K), b("y", "float64", n * K), n),
                {"K": K, "BN": BN},
                (cdiv(n, BN),),
                num_warps,
            ),
        ),
        (
            split_fields,
            ((131072, 4, 128, 4), (4194304, 16, 256, 4)),
            lambda n, G, BN, num_warps: Launch(
                split_fields,
                (b("word", "int32", n, 1 << 30), b("scale", "int32", cdiv(n, G), 16), b("y", "float16", n * 8), n),
                {"G": G, "BN": BN},
                (cdiv(n, BN),),
                num_warps,
            ),
        ),
    )
