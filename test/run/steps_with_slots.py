# run: ref cpu gpu
# Products of as many steps as there are slots for, in branches on what a counter always is, and of programs that walk the grid.
import triton
import triton.language as tl


@triton.jit
def step(x, w, acc, m, j, at, ld, N: tl.constexpr):
    k = at + tl.arange(0, 16)
    return tl.dot(tl.load(x + m[:, None] * ld + k[None, :]), tl.load(w + k[:, None] * N + j[None, :]), acc)


@triton.autotune(configs=[triton.Config({}, num_warps=4, num_stages=4)], key=[])
@triton.jit
def few(x, w, y, K: tl.constexpr, N: tl.constexpr):
    m, j = tl.arange(0, 64), tl.arange(0, N)
    acc = tl.zeros((64, N), tl.float32)
    for at in range(0, K, 16):
        if at >= 0:
            acc = step(x, w, acc, m, j, at, K, N)
    # What comes in another loop takes the same memory.
    for at in range(0, K, 16):
        acc = step(x, w, acc * 0.5, m, j, at, K, N)
    tl.store(y + m[:, None] * N + j[None, :], acc)


@triton.autotune(configs=[triton.Config({}, num_warps=4, num_stages=4)], key=[])
@triton.jit
def walked(x, w, y, tiles, K, PROGRAMS, N: tl.constexpr):
    j = tl.arange(0, N)
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        m = tile * 64 + tl.arange(0, 64)
        acc = tl.zeros((64, N), tl.float32)
        for at in range(0, K, 16):
            acc = step(x, w, acc, m, j, at, K, N)
        tl.store(y + m[:, None] * N + j[None, :], acc)

# expect: few(x=[[(m + k) % 5 for k in range(32)] for m in range(64)]:f16, w=[[k * j % 3 for j in range(64)] for k in range(32)]:f16, K=32, N=64)
#     -> y:f32 == [[sum((m + k) % 5 * (k * j % 3) * [0.75, 1.25][k // 16] for k in range(32)) for j in range(64)] for m in range(64)]
# expect: few(x=[[(m + k) % 5 for k in range(48)] for m in range(64)]:f16, w=[[k * j % 3 for j in range(64)] for k in range(48)]:f16, K=48, N=64)
#     -> y:f32 == [[sum((m + k) % 5 * (k * j % 3) * [0.375, 0.625, 1.125][k // 16] for k in range(48)) for j in range(64)] for m in range(64)]
# expect: walked[2](x=[[(m + k) % 5 for k in range(80)] for m in range(192)]:f16, w=[[k * j % 3 for j in range(64)] for k in range(80)]:f16, tiles=3, K=80, PROGRAMS=2, N=64)
#     -> y:f32 == [[sum((m + k) % 5 * (k * j % 3) for k in range(80)) for j in range(64)] for m in range(192)]
