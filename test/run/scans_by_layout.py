# run: ref cpu gpu
# Scans along tiles of which neighbours lie in registers, lanes and warps, and in registers again; both ways, also of what does not commute.
import triton
import triton.language as tl


# x -> a x + b, the later one applied after the earlier one; with a = -1 and b = i the sum is i minus the one before.
@triton.jit
def compose(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def alternate(y, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.associative_scan((tl.full([N], -1, tl.int32), i), 0, compose, reverse=REVERSE)
    tl.store(y + i, b)
    tl.store(y + N + i, a)


@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=[])
@triton.jit
def alternate_1(y, N: tl.constexpr, REVERSE: tl.constexpr):
    alternate(y, N, REVERSE)


@triton.autotune(configs=[triton.Config({}, num_warps=16)], key=[])
@triton.jit
def alternate_16(y, N: tl.constexpr, REVERSE: tl.constexpr):
    alternate(y, N, REVERSE)

# expect: alternate(y=zeros(2,i32), N=1, REVERSE=0) -> y == [0, -1]
# expect: alternate(y=zeros(8,i32), N=4, REVERSE=0) -> y == [0, 1, 1, 2, -1, 1, -1, 1]
# expect: alternate(y=zeros(128,i32), N=64, REVERSE=0) -> y == [(n + 1) // 2 if n < 64 else 2 * (n % 2) - 1 for n in range(128)]
# expect: alternate(y=zeros(2048,i32), N=1024, REVERSE=0) -> y == [(n + 1) // 2 if n < 1024 else 2 * (n % 2) - 1 for n in range(2048)]
# expect: alternate(y=zeros(8192,i32), N=4096, REVERSE=0) -> y == [(n + 1) // 2 if n < 4096 else 2 * (n % 2) - 1 for n in range(8192)]
# expect: alternate(y=zeros(128,i32), N=64, REVERSE=1) -> y == [(-((64 - n) // 2) if n % 2 == 0 else (64 + n) // 2) if n < 64 else 1 - 2 * (n % 2) for n in range(128)]
# expect: alternate(y=zeros(8192,i32), N=4096, REVERSE=1) -> y == [(-((4096 - n) // 2) if n % 2 == 0 else (4096 + n) // 2) if n < 4096 else 1 - 2 * (n % 2) for n in range(8192)]
# expect: alternate_1(y=zeros(2048,i32), N=1024, REVERSE=0) -> y == [(n + 1) // 2 if n < 1024 else 2 * (n % 2) - 1 for n in range(2048)]
# expect: alternate_1(y=zeros(2048,i32), N=1024, REVERSE=1) -> y == [(-((1024 - n) // 2) if n % 2 == 0 else (1024 + n) // 2) if n < 1024 else 1 - 2 * (n % 2) for n in range(2048)]
# expect: alternate_16(y=zeros(2048,i32), N=1024, REVERSE=0) -> y == [(n + 1) // 2 if n < 1024 else 2 * (n % 2) - 1 for n in range(2048)]
# expect: alternate_16(y=zeros(8192,i32), N=4096, REVERSE=1) -> y == [(-((4096 - n) // 2) if n % 2 == 0 else (4096 + n) // 2) if n < 4096 else 1 - 2 * (n % 2) for n in range(8192)]


@triton.jit
def sums(y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    ones = tl.full([M, N], 1, tl.int16)
    tl.store(y + at, tl.cumsum(ones, AXIS, reverse=REVERSE))

# expect: sums(y=zeros(64x32,i32), M=64, N=32, AXIS=0, REVERSE=0) -> y == [[r + 1 for c in range(32)] for r in range(64)]
# expect: sums(y=zeros(64x32,i32), M=64, N=32, AXIS=0, REVERSE=1) -> y == [[64 - r for c in range(32)] for r in range(64)]
# expect: sums(y=zeros(64x32,i32), M=64, N=32, AXIS=1, REVERSE=0) -> y == [[c + 1 for c in range(32)] for r in range(64)]
# expect: sums(y=zeros(4x1024,i32), M=4, N=1024, AXIS=1, REVERSE=1) -> y == [[1024 - c for c in range(1024)] for r in range(4)]
# expect: sums(y=zeros(128x2,i32), M=128, N=2, AXIS=0, REVERSE=0) -> y == [[r + 1 for c in range(2)] for r in range(128)]
