# run: ref cpu gpu
# Reductions by what does not commute combine elements in their order, for several rows of a tile at once, along both axes and wherever neighbours
# lie: they give what the last element of a scan is. Sums of pairs stand beside them in one reduction.
import triton
import triton.language as tl


# x -> a x + b, the later one applied after the earlier one; with a = 3 no two orders give the same b.
@triton.jit
def compose(a1, b1, n1, a2, b2, n2):
    return a1 * a2, b1 * a2 + b2, n1 + n2


@triton.jit
def compare(y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    row = tl.arange(0, M)[:, None]
    column = tl.arange(0, N)[None, :]
    a = tl.full([M, N], 3, tl.int32)
    b = row * 5 + column * 7
    _, reduced, count = tl.reduce((a, b, (a + b).to(tl.float32)), AXIS, compose)
    _, scanned, _ = tl.associative_scan((a, b, (a + b).to(tl.float32)), AXIS, compose)
    at = column if AXIS else row
    last = tl.sum(tl.where(at == (N if AXIS else M) - 1, scanned, 0), AXIS)
    places = tl.arange(0, M if AXIS else N)
    tl.store(y + places * 2, reduced - last)
    tl.store(y + places * 2 + 1, (count - tl.sum((a + b).to(tl.float32), AXIS)).to(tl.int32))


@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=[])
@triton.jit
def compare_1(y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    compare(y, M, N, AXIS)


@triton.autotune(configs=[triton.Config({}, num_warps=16)], key=[])
@triton.jit
def compare_16(y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    compare(y, M, N, AXIS)

# expect: compare(y=iota(2,i32), M=1, N=1024, AXIS=1) -> y == [0 for i in range(2)]
# expect: compare(y=iota(4,i32), M=2, N=16, AXIS=1) -> y == [0 for i in range(4)]
# expect: compare(y=iota(8,i32), M=4, N=1024, AXIS=1) -> y == [0 for i in range(8)]
# expect: compare(y=iota(16,i32), M=8, N=256, AXIS=1) -> y == [0 for i in range(16)]
# expect: compare(y=iota(128,i32), M=64, N=32, AXIS=1) -> y == [0 for i in range(128)]
# expect: compare(y=iota(16,i32), M=64, N=8, AXIS=0) -> y == [0 for i in range(16)]
# expect: compare(y=iota(8,i32), M=256, N=4, AXIS=0) -> y == [0 for i in range(8)]
# expect: compare_1(y=iota(8,i32), M=4, N=128, AXIS=1) -> y == [0 for i in range(8)]
# expect: compare_1(y=iota(128,i32), M=16, N=64, AXIS=0) -> y == [0 for i in range(128)]
# expect: compare_16(y=iota(16,i32), M=8, N=1024, AXIS=1) -> y == [0 for i in range(16)]
# expect: compare_16(y=iota(32,i32), M=16, N=128, AXIS=1) -> y == [0 for i in range(32)]
# expect: compare_16(y=iota(8,i32), M=512, N=4, AXIS=0) -> y == [0 for i in range(8)]
