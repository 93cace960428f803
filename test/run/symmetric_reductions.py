# run: ref cpu gpu
# Welford's combination is symmetric but for rounding, so parts may meet in any order. A sum that starts anew where a flag says so is not
# symmetric, though its guard compares with zero: of each row the numbers from its last flag on count.
import triton
import triton.language as tl


@triton.jit
def welford(mean1, m1, n1, mean2, m2, n2):
    delta = mean2 - mean1
    n = n1 + n2
    part = tl.where(n == 0.0, 0.0, n2 / n)
    return mean1 + delta * part, m1 + m2 + delta * delta * n1 * part, n


@triton.jit
def from_flag(f1, s1, f2, s2):
    return tl.maximum(f1, f2), tl.where(f2 == 0.0, s1 + s2, s2)


@triton.jit
def rows(y, M: tl.constexpr, N: tl.constexpr):
    row = tl.arange(0, M)[:, None]
    column = tl.arange(0, N)[None, :]
    x = (column % 8 + row).to(tl.float32)
    mean, m, n = tl.reduce((x, x * 0, x * 0 + 1), 1, welford)
    flags = tl.where(column == N - 3 - row, 1.0, 0.0)
    _, last = tl.reduce((flags, x), 1, from_flag)
    at = tl.arange(0, M)
    right = (tl.abs(mean - at - 3.5) < 1e-3) & (tl.abs(m - N * 5.25) < N * 1e-3) & (n == N)
    wanted = tl.sum(tl.where(column >= N - 3 - row, x, 0.0), 1)
    tl.store(y + at, right.to(tl.int32) + (last == wanted).to(tl.int32))


@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=[])
@triton.jit
def rows_1(y, M: tl.constexpr, N: tl.constexpr):
    rows(y, M, N)


@triton.autotune(configs=[triton.Config({}, num_warps=16)], key=[])
@triton.jit
def rows_16(y, M: tl.constexpr, N: tl.constexpr):
    rows(y, M, N)

# expect: rows(y=iota(1,i32), M=1, N=1024) -> y == [2]
# expect: rows(y=iota(4,i32), M=4, N=256) -> y == [2 for i in range(4)]
# expect: rows_1(y=iota(2,i32), M=2, N=128) -> y == [2, 2]
# expect: rows_16(y=iota(1,i32), M=1, N=2048) -> y == [2]
# expect: rows_16(y=iota(2,i32), M=2, N=2048) -> y == [2, 2]
# expect: rows_16(y=iota(8,i32), M=8, N=1024) -> y == [2 for i in range(8)]
