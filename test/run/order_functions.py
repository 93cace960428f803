# run: ref cpu gpu
# Functions that put elements or programs in another order.
import triton
import triton.language as tl


@triton.jit
def largest(x, y, z, N: tl.constexpr, K: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(y + tl.arange(0, K), tl.topk(v, K))
    tl.store(z + tl.arange(0, N), tl.flip(v, 0))


@triton.jit
def merged(x, y, N: tl.constexpr):
    # Two runs, up and down, make one order.
    i = tl.arange(0, N)
    tl.store(y + i, tl.bitonic_merge(tl.load(x + i)))


@triton.jit
def grouped(rows, columns, M, N, G):
    i = tl.program_id(0)
    j = tl.program_id(1)
    row, column = tl.swizzle2d(i, j, M, N, G)
    tl.store(rows + i * N + j, row)
    tl.store(columns + i * N + j, column)


@triton.jit
def magnitudes(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.abs(tl.load(x + i)))


@triton.jit
def rows(x, y, M, N: tl.constexpr, R: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[1, N])
    target = tl.make_tensor_descriptor(y, shape=[M, N], strides=[N, 1], block_shape=[1, N])
    picked = source.gather((tl.arange(0, R) * 2) % 5, 0)
    target.scatter(picked, tl.arange(0, R), 0)

# expect: largest(x=[3, 9, -1, 4, 4, 0, 7, 2]:i32, N=8, K=4) -> y:i32 == [9, 7, 4, 4] and z:i32 == [2, 7, 0, 4, 4, -1, 9, 3]
# expect: merged(x=[1, 4, 6, 9, 8, 5, 2, 0]:i32, N=8) -> y:i32 == [0, 1, 2, 4, 5, 6, 8, 9]
# expect: grouped[3, 2](M=3, N=2, G=2) -> rows:i32 == [0, 1, 0, 1, 2, 2] and columns:i32 == [0, 0, 1, 1, 0, 1]
# expect: magnitudes(x=[-3, 0, 5, -2147483647]:i32, N=4) -> y:i32 == [3, 0, 5, 2147483647]
# expect: rows(x=iota(40), y=zeros(64,f32), M=8, N=8, R=8)
#     -> y == [8 * [0, 2, 4, 1, 3, 0, 2, 4][i // 8] + i % 8 for i in range(64)]
