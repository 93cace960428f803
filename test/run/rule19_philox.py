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
