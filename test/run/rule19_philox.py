# run: ref cpu gpu
# Rule 19: Philox, with seeds that are negative or wider than 32 bits. Values as Triton 3.6 draws them.
import triton
import triton.language as tl


@triton.jit
def draw(y, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.randint(seed, i).to(tl.int32, bitcast=True))

# expect: draw(y=zeros(4,i32), seed=0, N=4) -> y == [1713891541, -119223132, 83534633, -913248471]
# expect: draw(y=zeros(4,i32), seed=42, N=4) -> y == [-1662324653, -52747993, -747896283, -1161362315]
# expect: draw(y=zeros(4,i32), seed=-1, N=4) -> y == [1923381001, 436131089, 392319618, -1903177708]
# expect: draw(y=zeros(4,i32), seed=-5, N=4) -> y == [-934052375, 1769977607, -1518079651, 2067208600]
# expect: draw(y=zeros(4,i32), seed=4294967296, N=4) -> y == [-35766773, -856488086, -1623507868, -60383899]
# expect: draw(y=zeros(4,i32), seed=1099511627783, N=4) -> y == [871882489, 1577213254, 1275043110, -1974409255]


@triton.jit
def draw_far(y, seed, N: tl.constexpr):
    i = tl.arange(0, N).to(tl.int64) + (1 << 33)
    tl.store(y + tl.arange(0, N), tl.randint(seed, i).to(tl.int32, bitcast=True))

# expect: draw_far(y=zeros(4,i32), seed=42, N=4) -> y == [-1679513901, -1967524771, 1995958715, -1737250604]
# expect: draw_far(y=zeros(4,i32), seed=-5, N=4) -> y == [-1117639915, -748029135, -1943834282, 2123050929]


@triton.jit
def uniform(y, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.rand(seed, i))

# expect: uniform(y=zeros(4,f32), seed=42, N=4)
#     -> y == [0.7740801572799683, 0.024562695994973183, 0.3482663035392761, 0.5408014059066772]


@triton.jit
def four(y, f, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(y + i, a.to(tl.int32, bitcast=True))
    tl.store(y + N + i, b.to(tl.int32, bitcast=True))
    tl.store(y + 2 * N + i, c.to(tl.int32, bitcast=True))
    tl.store(y + 3 * N + i, d.to(tl.int32, bitcast=True))
    tl.store(f + i, tl.randn(seed, i))
    p, q, r, s = tl.randn4x(seed, i)
    tl.store(f + N + i, q)
    tl.store(f + 2 * N + i, r)
    tl.store(f + 3 * N + i, s)


@triton.jit
def counters(y, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    zero = tl.zeros((N,), tl.uint32)
    a, b, c, d = tl.philox(seed, i.to(tl.uint32), zero, zero, zero)
    tl.store(y + i, a.to(tl.int32, bitcast=True))
    k0, k1 = tl.full((N,), seed, tl.uint32), zero
    a, b, c, d = tl.philox_impl(i.to(tl.uint32), zero, zero, zero, k0, k1)
    tl.store(y + N + i, d.to(tl.int32, bitcast=True))
    u = tl.uint_to_uniform_float(zero)
    n, m = tl.pair_uniform_to_normal(u + 1, u)
    tl.store(y + 2 * N + i, (n + m).to(tl.int32))

# expect: four(y=zeros(16,i32), f=zeros(16,f32), seed=7, N=4)
#     -> y == [-195003859, 1747881627, 26092480, 1675892246, -1073088036, -879248365, 36305844, 1074293615,
#              490388034, 737869675, -826114966, 634688835, 367897730, -181014874, -649912153, 597108639]
#     and f ~= [-2.19044471, -0.54057825, 2.95324445, -0.70420241, 0.00419029, 0.34577411, 0.31489351, -0.00113671,
#               0.81548077, 1.2614466, -0.44887838, -0.27375963, 1.512845397, 0.73845911, 1.30734253, 1.53716958] within 1e-6
# expect: counters(y=zeros(12,i32), seed=7, N=4)
#     -> y == [-195003859, 1747881627, 26092480, 1675892246, 367897730, -181014874, -649912153, 597108639, 0, 0, 0, 0]
