# run: ref cpu gpu
# Steps of a few bytes of a thread, of which several become one: rows with and without a rest, none at all, pointers that walk, what the last step leaves, rows of tiles that begin and end anywhere, a row in place.
import triton
import triton.language as tl


@triton.jit
def norm(x, w, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        tl.store(y + start + columns, (tl.load(x + start + columns, mask=inside) - mean) * tl.load(w + start + columns, mask=inside), mask=inside)


@triton.jit
def walking(x, first, last, sums, steps):
    i = tl.arange(0, 128)
    at = x + i
    seen = tl.zeros([128], tl.float32) - 1
    total = tl.zeros([128], tl.float32)
    count = 0
    for step in range(steps):
        seen = tl.load(at)
        total += seen * step
        count += 1
        at += 128
    tl.store(last + i, seen)
    tl.store(sums + i, total)
    tl.store(first, count)


@triton.jit
def fill(x, y, first, last):
    rows, columns = tl.arange(0, 8), tl.arange(0, 32)
    place = rows[:, None] * 32 + columns[None, :]
    for at in range(first, last):
        tl.store(y + at * 256 + place, tl.load(x + (at - first) * 256 + place))


@triton.jit
def scaled(x, N: tl.constexpr):
    columns = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    for start in range(0, N, 128):
        total += tl.load(x + start + columns)
    sum = tl.sum(total, axis=0)
    for start in range(0, N, 128):
        tl.store(x + start + columns, tl.load(x + start + columns) * sum)


# expect: norm(x=values([n % 8 for n in range(1024)], f32), w=values([n % 3 for n in range(1024)], f32), y=zeros(1024,f32), N=1024, BLOCK=128) -> y == [(n % 8 - 3.5) * (n % 3) for n in range(1024)]
# expect: norm(x=values([n % 8 for n in range(328)], f32), w=values([n % 3 for n in range(328)], f32), y=zeros(400,f32), N=328, BLOCK=64) -> y ~= [(n % 8 - 3.5) * (n % 3) if n < 328 else 0 for n in range(400)] within 1e-6
# expect: norm(x=values([n % 8 for n in range(64)], f32), w=values([n % 3 for n in range(64)], f32), y=zeros(64,f32), N=0, BLOCK=128) -> y == [0 for n in range(64)]
# expect: walking(x=iota(1280), first=zeros(1,i32), last=zeros(128,f32), sums=zeros(128,f32), steps=10) -> first == [10] and last == [1152 + n for n in range(128)] and sums == [sum([s * (s * 128 + n) for s in range(10)]) for n in range(128)]
# expect: walking(x=iota(1280), first=zeros(1,i32), last=zeros(128,f32), sums=zeros(128,f32), steps=1) -> first == [1] and last == [n for n in range(128)] and sums == [0 for n in range(128)]
# expect: walking(x=iota(1280), first=zeros(1,i32), last=zeros(128,f32), sums=zeros(128,f32), steps=0) -> first == [0] and last == [-1 for n in range(128)] and sums == [0 for n in range(128)]
# expect: fill(x=iota(2048,f16), y=zeros(4096,f16), first=3, last=9) -> y == [n - 768 if 768 <= n < 2304 else 0 for n in range(4096)]
# expect: fill(x=iota(2048,f16), y=zeros(4096,f16), first=5, last=4) -> y == [0 for n in range(4096)]
# expect: scaled(x=values([n % 2 for n in range(768)], f32), N=768) -> x == [n % 2 * 384 for n in range(768)]
