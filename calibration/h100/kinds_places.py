"""Windows, stencils and samples on images and grids. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def mirrored(i, n):
    """An index reflected at both borders."""
    i = tl.abs(i)
    return tl.where(i >= n, 2 * n - 2 - i, i)


@triton.jit
def weighed_window(x, sigma, y, H, W, K: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr):
    """A bell of K x K taps with its width read from memory, borders mirrored, tile by tile."""
    p = tl.program_id(2)
    r = tl.program_id(1) * BH + tl.arange(0, BH)
    c = tl.program_id(0) * BW + tl.arange(0, BW)
    ok = (r < H)[:, None] & (c < W)[None, :]
    s = tl.load(sigma + p)
    fall = -0.5 / (s * s)
    acc = tl.zeros((BH, BW), tl.float32)
    total = 0.0
    for i in range(K):
        dy = i - K // 2
        rr = mirrored(r + dy, H)
        for j in range(K):
            dx = j - K // 2
            w = tl.exp((dy * dy + dx * dx).to(tl.float32) * fall)
            cc = mirrored(c + dx, W)
            acc += w * tl.load(x + p * H * W + rr[:, None] * W + cc[None, :], mask=ok, other=0.0)
            total += w
    tl.store(y + p * H * W + r[:, None] * W + c[None, :], acc / total, mask=ok)


@triton.jit
def swapped(a, b):
    """Two numbers in order."""
    return tl.minimum(a, b), tl.maximum(a, b)


@triton.jit
def median_of_nine(x, y, H, W, BLOCK: tl.constexpr):
    """The median of 3 x 3 by exchanges."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = i // W
    c = i % W
    m = (r > 0) & (r < H - 1) & (c > 0) & (c < W - 1)
    a = tl.load(x + i - W - 1, mask=m, other=0.0)
    b = tl.load(x + i - W, mask=m, other=0.0)
    d = tl.load(x + i - W + 1, mask=m, other=0.0)
    e = tl.load(x + i - 1, mask=m, other=0.0)
    f = tl.load(x + i, mask=i < H * W, other=0.0)
    g = tl.load(x + i + 1, mask=m, other=0.0)
    h = tl.load(x + i + W - 1, mask=m, other=0.0)
    k = tl.load(x + i + W, mask=m, other=0.0)
    n = tl.load(x + i + W + 1, mask=m, other=0.0)
    a, b = swapped(a, b)
    e, f = swapped(e, f)
    h, k = swapped(h, k)
    b, d = swapped(b, d)
    f, g = swapped(f, g)
    k, n = swapped(k, n)
    a, b = swapped(a, b)
    e, f = swapped(e, f)
    h, k = swapped(h, k)
    h = tl.maximum(tl.maximum(a, e), h)
    d = tl.minimum(tl.minimum(d, g), n)
    b, f = swapped(b, f)
    f = tl.maximum(b, tl.minimum(f, k))
    f = tl.minimum(tl.maximum(f, d), tl.maximum(h, tl.minimum(f, d)))
    tl.store(y + i, f, mask=i < H * W)


@triton.jit
def displaced_samples(x, offset, y, C, H, W, K: tl.constexpr, BLOCK: tl.constexpr):
    """Bilinear samples of [C, H, W] at K places near each pixel, averaged, a channel a program."""
    ch = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    r = (i // W).to(tl.float32)
    c = (i % W).to(tl.float32)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(K):
        v = r + tl.load(offset + (2 * k) * H * W + i, mask=m, other=0.0)
        u = c + tl.load(offset + (2 * k + 1) * H * W + i, mask=m, other=0.0)
        v0 = tl.floor(v)
        u0 = tl.floor(u)
        fv = v - v0
        fu = u - u0
        iv = v0.to(tl.int32)
        iu = u0.to(tl.int32)
        for dv in tl.static_range(2):
            for du in tl.static_range(2):
                rr = iv + dv
                cc = iu + du
                ok = m & (rr >= 0) & (rr < H) & (cc >= 0) & (cc < W)
                w = (fv if dv else 1 - fv) * (fu if du else 1 - fu)
                acc += w * tl.load(x + ch * H * W + rr * W + cc, mask=ok, other=0.0)
    tl.store(y + ch * H * W + i, acc / K, mask=m)


@triton.jit
def pool_with_places(x, y, place, H, W, OH, OW, K: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    """Largest of K x K windows every S pixels, and where it was."""
    p = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < OH * OW
    r = i // OW * S
    c = i % OW * S
    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    at = tl.zeros((BLOCK,), tl.int32)
    for dy in range(K):
        for dx in range(K):
            ok = m & (r + dy < H) & (c + dx < W)
            j = (r + dy) * W + c + dx
            v = tl.load(x + p * H * W + j, mask=ok, other=-float("inf")).to(tl.float32)
            at = tl.where(v > best, j, at)
            best = tl.maximum(best, v)
    tl.store(y + p * OH * OW + i, best.to(tl.float16), mask=m)
    tl.store(place + p * OH * OW + i, at, mask=m)


@triton.jit
def depthwise_last(x, w, bias, y, H, W, C, K: tl.constexpr, BC: tl.constexpr):
    """A filter of K x K for each channel of [H, W, C], a pixel a program."""
    pix = tl.program_id(0)
    img = tl.program_id(1) * H * W
    r = pix // W
    q = pix % W
    c = tl.arange(0, BC)
    ok = c < C
    acc = tl.load(bias + c, mask=ok, other=0.0)
    for dy in range(K):
        rr = r + dy - K // 2
        for dx in range(K):
            cc = q + dx - K // 2
            inside = (rr >= 0) & (rr < H) & (cc >= 0) & (cc < W)
            v = tl.load(x + (img + rr * W + cc) * C + c, mask=ok & inside, other=0.0).to(tl.float32)
            acc += v * tl.load(w + (dy * K + dx) * C + c, mask=ok, other=0.0)
    tl.store(y + (img + pix) * C + c, acc.to(tl.float16), mask=ok)


@triton.jit
def local_contrast(x, y, H, W, R: tl.constexpr, BLOCK: tl.constexpr):
    """A pixel less its window's mean over the window's deviation, borders clamped."""
    r = tl.program_id(1)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for dy in range(-R, R + 1):
        rr = tl.minimum(tl.maximum(r + dy, 0), H - 1)
        for dx in range(-R, R + 1):
            cc = tl.minimum(tl.maximum(c + dx, 0), W - 1)
            v = tl.load(x + rr * W + cc)
            s += v
            q += v * v
    n: tl.constexpr = (2 * R + 1) * (2 * R + 1)
    mean = s / n
    dev = tl.sqrt(tl.maximum(q / n - mean * mean, 1e-6))
    v = tl.load(x + r * W + c, mask=c < W, other=0.0)
    tl.store(y + r * W + c, (v - mean) / dev, mask=c < W)


@triton.jit
def shallow_water(h, u, v, h2, u2, v2, H, W, dt, BLOCK: tl.constexpr):
    """A step of shallow water on a plane that wraps around: three fields, five points each."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    r = i // W
    c = i % W
    e = r * W + (c + 1) % W
    w = r * W + (c + W - 1) % W
    n = ((r + H - 1) % H) * W + c
    s = ((r + 1) % H) * W + c
    he = tl.load(h + e, mask=m, other=0.0)
    hw = tl.load(h + w, mask=m, other=0.0)
    hn = tl.load(h + n, mask=m, other=0.0)
    hs = tl.load(h + s, mask=m, other=0.0)
    flux = tl.load(u + e, mask=m, other=0.0) - tl.load(u + w, mask=m, other=0.0)
    flux += tl.load(v + s, mask=m, other=0.0) - tl.load(v + n, mask=m, other=0.0)
    tl.store(h2 + i, tl.load(h + i, mask=m, other=0.0) - dt * flux, mask=m)
    tl.store(u2 + i, tl.load(u + i, mask=m, other=0.0) - dt * 9.81 * (he - hw), mask=m)
    tl.store(v2 + i, tl.load(v + i, mask=m, other=0.0) - dt * 9.81 * (hs - hn), mask=m)


@triton.jit
def eighth_order(p, old, vel, new, NX, NY, NZ, BLOCK: tl.constexpr):
    """A wave in space, eighth order in each direction."""
    z = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    iy = tl.program_id(1)
    ix = tl.program_id(2)
    at = (ix * NY + iy) * NZ + z
    ok = (z >= 4) & (z < NZ - 4) & (iy >= 4) & (iy < NY - 4) & (ix >= 4) & (ix < NX - 4)
    c = tl.load(p + at, mask=z < NZ, other=0.0)
    acc = -8.541 * c
    for k in tl.static_range(1, 5):
        w = 1.6 if k == 1 else (-0.2 if k == 2 else (0.0254 if k == 3 else -0.00179))
        t = tl.load(p + at - k, mask=ok, other=0.0) + tl.load(p + at + k, mask=ok, other=0.0)
        t += tl.load(p + at - k * NZ, mask=ok, other=0.0) + tl.load(p + at + k * NZ, mask=ok, other=0.0)
        t += tl.load(p + at - k * NZ * NY, mask=ok, other=0.0) + tl.load(p + at + k * NZ * NY, mask=ok, other=0.0)
        acc += w * t
    speed = tl.load(vel + at, mask=ok, other=0.0)
    tl.store(new + at, 2 * c - tl.load(old + at, mask=ok, other=0.0) + speed * acc, mask=ok)


@triton.jit
def disparity_costs(left, right, cost, H, W, D: tl.constexpr, R: tl.constexpr, BLOCK: tl.constexpr):
    """The disparity of least difference over a window, byte images, all disparities in turns."""
    r = tl.program_id(1)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), 1 << 30, tl.int32)
    where = tl.zeros((BLOCK,), tl.int32)
    for d in range(D):
        s = tl.zeros((BLOCK,), tl.int32)
        for dy in range(-R, R + 1):
            rr = tl.minimum(tl.maximum(r + dy, 0), H - 1)
            for dx in range(-R, R + 1):
                m = (c + dx - d >= 0) & (c + dx < W)
                a = tl.load(left + rr * W + c + dx, mask=m, other=0).to(tl.int32)
                b = tl.load(right + rr * W + c + dx - d, mask=m, other=0).to(tl.int32)
                s += tl.abs(a - b)
        where = tl.where(s < best, d, where)
        best = tl.minimum(best, s)
    tl.store(cost + r * W + c, where, mask=c < W)


@triton.jit
def volume_samples(vol, at, y, n, S, C: tl.constexpr, BLOCK: tl.constexpr):
    """Trilinear samples of [S, S, S, C] at points [n, 3]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, C)
    m = i < n
    px = tl.sigmoid(tl.load(at + 3 * i, mask=m, other=0.0)) * (S - 2)
    py = tl.sigmoid(tl.load(at + 3 * i + 1, mask=m, other=0.0)) * (S - 2)
    pz = tl.sigmoid(tl.load(at + 3 * i + 2, mask=m, other=0.0)) * (S - 2)
    x0 = px.to(tl.int32)
    y0 = py.to(tl.int32)
    z0 = pz.to(tl.int32)
    acc = tl.zeros((BLOCK, C), tl.float32)
    for k in tl.static_range(8):
        dx = k & 1
        dy = (k >> 1) & 1
        dz = k >> 2
        w = (px - x0 if dx else 1 - px + x0) * (py - y0 if dy else 1 - py + y0) * (pz - z0 if dz else 1 - pz + z0)
        cell = ((z0 + dz) * S + y0 + dy) * S + x0 + dx
        acc += w[:, None] * tl.load(vol + cell[:, None] * C + c[None, :], mask=m[:, None], other=0.0)
    tl.store(y + i[:, None] * C + c[None, :], acc, mask=m[:, None])


@triton.jit
def two_frame_blocks(a, b, y, H, W, B: tl.constexpr, S: tl.constexpr):
    """The least difference of a block of B x B between frames within S places: a block a program, tiles re-read."""
    r = tl.program_id(0) * B
    c = tl.program_id(1) * B
    i = tl.arange(0, B)
    cur = tl.load(a + (r + i[:, None]) * W + c + i[None, :])
    best = 1e30
    for dy in range(-S, S + 1):
        for dx in range(-S, S + 1):
            rr = r + dy + i[:, None]
            cc = c + dx + i[None, :]
            ok = (rr >= 0) & (rr < H) & (cc >= 0) & (cc < W)
            ref = tl.load(b + rr * W + cc, mask=ok, other=255.0)
            best = tl.minimum(best, tl.sum(tl.sum(tl.abs(cur - ref), axis=1), axis=0))
    tl.store(y + tl.program_id(0) * (W // B) + tl.program_id(1), best)


@triton.jit
def long_filter(x, taps, y, T, K: tl.constexpr, BLOCK: tl.constexpr):
    """A filter of some hundred taps along rows, taps read one by one."""
    row = tl.program_id(1).to(tl.int64)
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(K):
        at = t - k
        acc += tl.load(taps + k) * tl.load(x + row * T + at, mask=(at >= 0) & (at < T), other=0.0)
    tl.store(y + row * T + t, acc, mask=t < T)


@triton.jit
def colour_planes(lum, chroma, y, H, W, BLOCK: tl.constexpr):
    """Bytes of brightness and half-size colour pairs to planes of floats."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    r = i // W
    c = i % W
    bright = (tl.load(lum + i, mask=m, other=16).to(tl.float32) - 16.0) * 1.164
    at = r // 2 * W + c // 2 * 2
    u = tl.load(chroma + at, mask=m, other=128).to(tl.float32) - 128.0
    v = tl.load(chroma + at + 1, mask=m, other=128).to(tl.float32) - 128.0
    tl.store(y + i, tl.minimum(tl.maximum(bright + 1.793 * v, 0.0), 255.0) / 255.0, mask=m)
    tl.store(y + H * W + i, tl.minimum(tl.maximum(bright - 0.213 * u - 0.533 * v, 0.0), 255.0) / 255.0, mask=m)
    tl.store(y + 2 * H * W + i, tl.minimum(tl.maximum(bright + 2.112 * u, 0.0), 255.0) / 255.0, mask=m)


@triton.jit
def kernel_surface(px, py, y, n, W, H, width, BP: tl.constexpr, BLOCK: tl.constexpr):
    """A density of n points on a plane, in doubles."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gx = (i % W).to(tl.float64) / W
    gy = (i // W).to(tl.float64) / H
    acc = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, n, BP):
        p = start + tl.arange(0, BP)
        x = tl.load(px + p, mask=p < n, other=1e9)
        z = tl.load(py + p, mask=p < n, other=1e9)
        dx = gx[:, None] - x[None, :]
        dz = gy[:, None] - z[None, :]
        acc += tl.sum(tl.exp(-(dx * dx + dz * dz) / (2 * width * width)), axis=1)
    tl.store(y + i, acc, mask=i < W * H)


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def pooled(P, H, W, K, S, BLOCK, num_warps):
        OH, OW = (H - K) // S + 1, (W - K) // S + 1
        args = (
            b("x", "float16", P * H * W),
            b("y", "float16", P * OH * OW),
            b("place", "int32", P * OH * OW),
            H,
            W,
            OH,
            OW,
        )
        return Launch(pool_with_places, args, {"K": K, "S": S, "BLOCK": BLOCK}, (cdiv(OH * OW, BLOCK), P), num_warps)

    return (
        (
            weighed_window, ((3, 64, 64, 9, 8, 32, 4), (12, 512, 512, 15, 8, 64, 4), (2, 1024, 1024, 31, 16, 64, 8)),
            lambda P, H, W, K, BH, BW, num_warps: Launch(
                weighed_window, (b("x", "float32", P * H * W), b("s", "float32", P), b("y", "float32", P * H * W), H, W),
                {"K": K, "BH": BH, "BW": BW}, (cdiv(W, BW), cdiv(H, BH), P), num_warps),
        ),
        (
            median_of_nine, ((300, 400, 256, 4), (4000, 6000, 1024, 4)),
            lambda H, W, BLOCK, num_warps: Launch(
                median_of_nine, (b("x", "float32", H * W), b("y", "float32", H * W), H, W), {"BLOCK": BLOCK},
                (cdiv(H * W, BLOCK),), num_warps),
        ),
        (
            displaced_samples, ((16, 64, 64, 9, 128, 4), (64, 256, 256, 9, 256, 4)),
            lambda C, H, W, K, BLOCK, num_warps: Launch(
                displaced_samples,
                (b("x", "float32", C * H * W), b("offset", "float32", 2 * K * H * W), b("y", "float32", C * H * W), C, H, W),
                {"K": K, "BLOCK": BLOCK}, (cdiv(H * W, BLOCK), C), num_warps),
        ),
        (pool_with_places, ((64, 56, 56, 3, 2, 256, 4), (2048, 112, 112, 3, 2, 256, 4), (256, 28, 28, 7, 1, 512, 4)), pooled),
        (
            depthwise_last, ((2, 14, 14, 384, 7, 4), (32, 56, 56, 96, 7, 1)),
            lambda B, H, W, C, K, num_warps: Launch(
                depthwise_last,
                (b("x", "float16", B * H * W * C), b("w", "float32", K * K * C), b("bias", "float32", C),
                 b("y", "float16", B * H * W * C), H, W, C),
                {"K": K, "BC": 1 << (C - 1).bit_length()}, (H * W, B), num_warps),
        ),
        (
            local_contrast, ((128, 200, 3, 128, 4), (2048, 2048, 7, 256, 4), (480, 640, 12, 64, 2)),
            lambda H, W, R, BLOCK, num_warps: Launch(
                local_contrast, (b("x", "float32", H * W), b("y", "float32", H * W), H, W), {"R": R, "BLOCK": BLOCK},
                (cdiv(W, BLOCK), H), num_warps),
        ),
        (
            shallow_water, ((256, 256, 256, 4), (4096, 4096, 512, 4)),
            lambda H, W, BLOCK, num_warps: Launch(
                shallow_water, (*(b(name, "float32", H * W) for name in ("x", "u", "v", "y", "u2", "v2")), H, W, 0.01),
                {"BLOCK": BLOCK}, (cdiv(H * W, BLOCK),), num_warps),
        ),
        (
            eighth_order, ((40, 40, 128, 128, 4), (256, 256, 512, 256, 4)),
            lambda X, Y, Z, BLOCK, num_warps: Launch(
                eighth_order, (*(b(name, "float32", X * Y * Z) for name in ("x", "u", "v", "y")), X, Y, Z),
                {"BLOCK": BLOCK}, (cdiv(Z, BLOCK), Y, X), num_warps),
        ),
        (
            disparity_costs, ((64, 128, 16, 2, 128, 4), (480, 640, 64, 3, 128, 4)),
            lambda H, W, D, R, BLOCK, num_warps: Launch(
                disparity_costs, (b("l", "uint8", H * W), b("r", "uint8", H * W), b("cost", "int32", H * W), H, W),
                {"D": D, "R": R, "BLOCK": BLOCK}, (cdiv(W, BLOCK), H), num_warps),
        ),
        (
            volume_samples, ((4096, 32, 4, 64, 4), (1 << 20, 128, 16, 32, 4)),
            lambda n, S, C, BLOCK, num_warps: Launch(
                volume_samples, (b("x", "float32", S * S * S * C), b("at", "float32", 3 * n), b("y", "float32", n * C), n, S),
                {"C": C, "BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (
            two_frame_blocks, ((128, 256, 16, 4, 4), (1024, 1920, 16, 7, 2)),
            lambda H, W, B, S, num_warps: Launch(
                two_frame_blocks, (b("x", "float32", H * W), b("u", "float32", H * W), b("y", "float32", H * W // B // B), H, W),
                {"B": B, "S": S}, (H // B, W // B), num_warps),
        ),
        (
            long_filter, ((4, 8000, 129, 256, 4), (64, 100000, 511, 1024, 4)),
            lambda rows, T, K, BLOCK, num_warps: Launch(
                long_filter, (b("x", "float32", rows * T), b("taps", "float32", K), b("y", "float32", rows * T), T),
                {"K": K, "BLOCK": BLOCK}, (cdiv(T, BLOCK), rows), num_warps),
        ),
        (
            colour_planes, ((240, 320, 256, 4), (2160, 3840, 1024, 4)),
            lambda H, W, BLOCK, num_warps: Launch(
                colour_planes, (b("l", "uint8", H * W), b("c", "uint8", H * W), b("y", "float32", 3 * H * W), H, W),
                {"BLOCK": BLOCK}, (cdiv(H * W, BLOCK),), num_warps),
        ),
        (
            kernel_surface, ((500, 64, 64, 32, 32, 4), (3000, 256, 256, 32, 64, 4)),
            lambda n, W, H, BP, BLOCK, num_warps: Launch(
                kernel_surface, (b("px", "float64", n), b("py", "float64", n), b("y", "float64", W * H), n, W, H, 0.05),
                {"BP": BP, "BLOCK": BLOCK}, (cdiv(W * H, BLOCK),), num_warps),
        ),
    )  # fmt: skip
