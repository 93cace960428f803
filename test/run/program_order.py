# run: ref cpu gpu
# Whichever axis a launch runs along first on a CPU, each program of the grid runs once.
import triton
import triton.language as tl


@triton.jit
def numbers(y, row, N: tl.constexpr, B: tl.constexpr):
    # Blocks of columns are along y.
    at = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(y + tl.program_id(0) * row + at, tl.program_id(0) * 100 + tl.program_id(1) + tl.zeros([B], tl.int32), mask=at < N)


@triton.jit
def by_strides(y, a, b, c, B: tl.constexpr):
    # Which axis goes on in memory, the launch tells.
    x, v, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    token = x // 2 * 2 + x % 2
    tl.store(y + token * a + v * b + z * c + tl.arange(0, B), x * 100 + v * 10 + z + tl.zeros([B], tl.int32))


@triton.jit
def planes(y, plane, B: tl.constexpr):
    # Along z.
    z = tl.program_id(2)
    tl.store(y + (tl.program_id(0) + tl.program_id(1) * 2) * plane + z * B + tl.arange(0, B),
             tl.program_id(0) * 100 + tl.program_id(1) * 10 + z + tl.zeros([B], tl.int32))

# expect: numbers[3, 4](row=16, N=16, B=4) -> y:i32 == [[100 * r + c // 4 for c in range(16)] for r in range(3)]
# expect: numbers[5, 3](row=20, N=20, B=8) -> y:i32 == [[100 * r + c // 8 for c in range(20)] for r in range(5)]
# expect: numbers[1, 2](row=8, N=8, B=4) -> y:i32 == [[c // 4 for c in range(8)]]
# expect: by_strides[2, 3, 2](a=48, b=16, c=8, B=8) -> y:i32 == [[x * 100 + r // 2 * 10 + r % 2 for c in range(8)] for x in range(2) for r in range(6)]
# expect: by_strides[2, 3, 2](a=48, b=8, c=24, B=8) -> y:i32 == [[x * 100 + r % 3 * 10 + r // 3 for c in range(8)] for x in range(2) for r in range(6)]
# expect: by_strides[2, 3, 2](a=8, b=16, c=48, B=8) -> y:i32 == [[r % 2 * 100 + r // 2 * 10 + z for c in range(8)] for z in range(2) for r in range(6)]
# expect: planes[2, 3, 4](plane=16, B=4) -> y:i32 == [[p % 2 * 100 + p // 2 * 10 + c // 4 for c in range(16)] for p in range(6)]
