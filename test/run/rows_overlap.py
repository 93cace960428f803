# run: ref cpu gpu
# A tile whose rows are stored where others of it were read: all of it is read before any of it is stored, and where rows are apart or in place nothing is kept.
import triton
import triton.language as tl


@triton.jit
def moved(x, shift, columns, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)[:, None]
    c = tl.arange(0, N)[None, :]
    at = x + r * N + c
    value = tl.load(at) + 100
    tl.debug_barrier()
    tl.store(at + shift * N + columns, value)

# expect: moved(x=iota(64,i32), shift=1, columns=0, M=4, N=8) -> x == [i if i < 8 or i >= 40 else i + 92 for i in range(64)]
# expect: moved(x=iota(64,i32), shift=0, columns=3, M=4, N=8) -> x == [i if i < 3 or i >= 35 else i + 97 for i in range(64)]
# expect: moved(x=iota(64,i32), shift=0, columns=0, M=4, N=8) -> x == [i + 100 if i < 32 else i for i in range(64)]
# expect: moved(x=iota(64,i32), shift=4, columns=0, M=4, N=8) -> x == [i if i < 32 else i + 68 for i in range(64)]


# Rows change places by a table.
@triton.jit
def permuted(x, table, y, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)[None, :]
    row = tl.load(table + r)[:, None]
    value = tl.load(x + row * N + c) * 2
    tl.debug_barrier()
    tl.store(x + r[:, None] * N + c, value)
    tl.store(y + row * N + c, value)

# expect: permuted(x=iota(64,f32), table=[2, 3, 0, 1]:i32, y=zeros(64,f32), M=4, N=16)
#     -> x == [2.0 * ([2, 3, 0, 1][i // 16] * 16 + i % 16) for i in range(64)] and y == [2.0 * i for i in range(64)]
# expect: permuted(x=iota(64,f32), table=[0, 1, 2, 3]:i32, y=zeros(64,f32), M=4, N=16) -> x == [2.0 * i for i in range(64)] and y == [2.0 * i for i in range(64)]
