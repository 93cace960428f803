# run: ref cpu
# Elements may stand at one place: all are read before any is written, whatever vectors they are in. (On a GPU warps race for them.)
import triton
import triton.language as tl


@triton.jit
def by_index(index, x, B: tl.constexpr):
    at = tl.load(index + tl.arange(0, B))
    tl.store(x + at, tl.load(x + at) + 1)

# expect: by_index(index=zeros(256,i32), x=zeros(4,f32), B=256) -> x == [1, 0, 0, 0]
# expect: by_index(index=arange(256,i32), x=zeros(256,f32), B=256) -> x == [1] * 256


@triton.jit
def by_rest(x, n, B: tl.constexpr):
    p = x + tl.arange(0, B) % n
    tl.store(p, tl.load(p) + 1)

# expect: by_rest(x=zeros(4,f32), n=3, B=256) -> x == [1, 1, 1, 0]
# expect: by_rest(x=zeros(160,f32), n=150, B=512) -> x == [1] * 150 + [0] * 10


@triton.jit
def by_row(index, x, B: tl.constexpr, C: tl.constexpr):
    p = x + tl.load(index + tl.arange(0, B))[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(p, tl.load(p) * 2 + 1)

# expect: by_row(index=zeros(8,i32), x=ones(64,f32), B=8, C=32) -> x == [3] * 32 + [1] * 32


@triton.jit
def by_atomic(index, x, y, B: tl.constexpr):
    at = tl.load(index + tl.arange(0, B))
    tl.atomic_add(x + at, tl.load(x + at))

# expect: by_atomic(index=zeros(128,i32), x=ones(2,i32), y=zeros(1,i32), B=128) -> x == [129, 1]
