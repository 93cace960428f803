# run: ref cpu gpu
# Loads that start steps ahead: loops of no, one and many steps, more steps ahead than there are.
import triton
import triton.language as tl


@triton.jit
def rows(x, y, first, last, step, STAGES: tl.constexpr):
    columns = tl.arange(0, 128)
    total = tl.zeros([128], dtype=tl.float32)
    for row in tl.range(first, last, step, num_stages=STAGES):
        tile = tl.load(x + row * 100 + columns, mask=columns < 100, other=-1.0)
        tl.store(y + row * 100 + columns, tile + total, mask=columns < 100)
        total += tl.sum(tile, axis=0)


# expect: rows(x=ones(800,f32), y=zeros(800,f32), first=0, last=8, step=1, STAGES=4) -> y == [1 + i // 100 * 72 for i in range(800)]
# expect: rows(x=arange(800,f32), y=zeros(800,f32), first=0, last=7, step=1, STAGES=4) -> y == [(i + sum(10000 * r + 4922 for r in range(i // 100))) * (i < 700) for i in range(800)]
# expect: rows(x=arange(800,f32), y=zeros(800,f32), first=0, last=8, step=1, STAGES=3) -> y == [i + sum(10000 * r + 4922 for r in range(i // 100)) for i in range(800)]
# expect: rows(x=arange(800,f32), y=zeros(800,f32), first=0, last=8, step=2, STAGES=3) -> y == [(i + sum(10000 * r + 4922 for r in range(0, i // 100, 2))) * (i // 100 % 2 == 0) for i in range(800)]
# expect: rows(x=ones(800,f32), y=zeros(800,f32), first=1, last=7, step=3, STAGES=2) -> y == [(i // 100 in (1, 4)) * (1 + 72 * (i // 100 == 4)) for i in range(800)]
# expect: rows(x=ones(800,f32), y=zeros(800,f32), first=5, last=6, step=1, STAGES=3) -> y == [float(i // 100 == 5) for i in range(800)]
# expect: rows(x=ones(800,f32), y=zeros(800,f32), first=6, last=6, step=1, STAGES=3) -> y == [0.0] * 800
# expect: rows(x=ones(800,f32), y=zeros(800,f32), first=7, last=2, step=1, STAGES=3) -> y == [0.0] * 800


# In front of a product: pointers of scales go on from step to step, and end where the memory does.
@triton.jit
def scaled(x, scales, y, z, steps, STAGES: tl.constexpr):
    i, k = tl.arange(0, 16), tl.arange(0, 32)
    scale = scales + i
    total = tl.zeros([16, 16], dtype=tl.float32)
    for step in tl.range(steps, num_stages=STAGES):
        a = tl.load(x + i[:, None] * 32 * steps + step * 32 + k[None, :])
        b = tl.load(y + i[None, :] * 32 * steps + step * 32 + k[:, None])
        total = tl.dot((a * tl.load(scale)[:, None]).to(tl.float16), b, total)
        scale += 16
    tl.store(z + i[:, None] * 16 + i[None, :], total)


# expect: scaled(x=ones(16*96,f16), scales=arange(48,i8), y=ones(16*96,f16), z=ones(256,f32), steps=3, STAGES=3) -> z == [32.0 * (3 * (i // 16) + 48) for i in range(256)]
# expect: scaled(x=ones(16*32,f16), scales=arange(16,i8), y=ones(16*32,f16), z=ones(256,f32), steps=1, STAGES=2) -> z == [32.0 * (i // 16) for i in range(256)]
# expect: scaled(x=ones(16,f16), scales=arange(16,i8), y=ones(16,f16), z=ones(256,f32), steps=0, STAGES=3) -> z == [0.0] * 256


# Rows that a table names: of a step beyond the last there is neither a number nor a row.
@triton.jit
def named(x, y, table, first, last, STAGES: tl.constexpr):
    columns = tl.arange(0, 128)
    for row in tl.range(first, last, num_stages=STAGES):
        place = tl.load(table + row)
        tl.store(y + row * 128 + columns, tl.load(x + place * 128 + columns) + place.to(tl.float32))


# expect: named(x=arange(1024,f32), y=zeros(1024,f32), table=[7, 2, 5, 0, 6, 1, 4, 3]:i32, first=0, last=8, STAGES=2) -> y == [[7, 2, 5, 0, 6, 1, 4, 3][i // 128] * 129 + i % 128 for i in range(1024)]
# expect: named(x=arange(1024,f32), y=zeros(1024,f32), table=[7, 2, 5, 0, 6, 1, 4, 3]:i32, first=1, last=8, STAGES=4) -> y == [(i >= 128) * ([7, 2, 5, 0, 6, 1, 4, 3][i // 128] * 129 + i % 128) for i in range(1024)]
# expect: named(x=arange(1024,f32), y=zeros(1024,f32), table=[7, 2, 5, 0, 6, 1, 4, 3]:i32, first=7, last=8, STAGES=3) -> y == [(i >= 896) * (3 * 129 + i % 128) for i in range(1024)]
# expect: named(x=arange(128,f32), y=zeros(128,f32), table=[5]:i32, first=4, last=1, STAGES=3) -> y == [0.0] * 128


# Pages in front of products: keys that are no copies, values that are.
@triton.jit
def paged(x, keys, values, table, y, pages, stride, STAGES: tl.constexpr):
    i, d, n = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 16)
    a = tl.load(x + i[:, None] * 16 + d[None, :])
    total = tl.zeros([16, 16], tl.float32)
    for page in tl.range(pages, num_stages=STAGES):
        at = tl.load(table + page)
        k = tl.load(keys + at * 256 + d[:, None] * stride + n[None, :])
        v = tl.load(values + at * 256 + n[:, None] * 16 + d[None, :])
        total += tl.dot(tl.dot(a, k).to(tl.float16), v)
    tl.store(y + i[:, None] * 16 + d[None, :], total)


# expect: paged(x=ones(256,f16), keys=ones(1024,f16), values=arange(1024,f16), table=[3, 1, 2, 0, 1]:i32, y=zeros(256,f32), pages=5, stride=16, STAGES=3) -> y == [16.0 * sum(256 * p * 16 + 1920 + 16 * (i % 16) for p in [3, 1, 2, 0, 1]) for i in range(256)]
# expect: paged(x=ones(256,f16), keys=ones(1024,f16), values=arange(1024,f16), table=[3]:i32, y=zeros(256,f32), pages=1, stride=16, STAGES=2) -> y == [16.0 * (256 * 3 * 16 + 1920 + 16 * (i % 16)) for i in range(256)]
# expect: paged(x=ones(256,f16), keys=ones(256,f16), values=arange(256,f16), table=[9]:i32, y=ones(256,f32), pages=0, stride=16, STAGES=3) -> y == [0.0] * 256
