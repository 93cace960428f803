# run: ref cpu gpu
# One loop over the steps of all tiles of a program: a branch finds the next tile, and copies for it start before its first step does. Behind the last tile it would divide by 0.
import triton
import triton.language as tl


@triton.jit
def products(a, b, c, M, N, K, PROGRAMS: tl.constexpr, GROUP: tl.constexpr, B: tl.constexpr):
    first = tl.program_id(0)
    rows, columns, steps = tl.cdiv(M, B), tl.cdiv(N, B), tl.cdiv(K, B)
    count = rows * columns // PROGRAMS
    if first < rows * columns % PROGRAMS:
        count += 1
    at = first - PROGRAMS
    step = -1
    row = 0
    column = 0
    i, j = tl.arange(0, B), tl.arange(0, B)
    sums = tl.zeros([B, B], tl.float32)
    for _ in range(0, steps * count):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            at += PROGRAMS
            group = at // (GROUP * columns)
            size = min(rows - group * GROUP, GROUP)
            row = group * GROUP + at % size
            column = at % (GROUP * columns) // size
            i = row * B + tl.arange(0, B)
            j = column * B + tl.arange(0, B)
        k = step * B + tl.arange(0, B)
        x = tl.load(a + i[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        y = tl.load(b + k[:, None] * N + j[None, :], mask=k[:, None] < K, other=0.0)
        sums = tl.dot(x, y, sums, input_precision="tf32")
        if step == steps - 1:
            tl.store(c + (row * B + tl.arange(0, B))[:, None] * N + (column * B + tl.arange(0, B))[None, :], sums)
            sums = tl.zeros([B, B], tl.float32)


# expect: products[2](a=iota(1408), b=iota(1408), M=32, N=32, K=44, PROGRAMS=2, GROUP=2, B=16) -> c:f32
#     ~= [sum([(i // 32 * 44 + k) * (k * 32 + i % 32) for k in range(44)]) for i in range(1024)] within 1e-5
# expect: products[3](a=iota(2112), b=iota(1408), M=48, N=32, K=44, PROGRAMS=3, GROUP=2, B=16) -> c:f32
#     ~= [sum([(i // 32 * 44 + k) * (k * 32 + i % 32) for k in range(44)]) for i in range(1536)] within 1e-3
# expect: products[2](a=iota(1408), b=iota(1408), c=iota(1024), M=32, N=32, K=0, PROGRAMS=2, GROUP=2, B=16) -> c == [i for i in range(1024)]
# expect: products[5](a=iota(1408), b=iota(1408), c=iota(1024), M=32, N=32, K=44, PROGRAMS=5, GROUP=2, B=16)
#     -> c ~= [sum([(i // 32 * 44 + k) * (k * 32 + i % 32) for k in range(44)]) for i in range(1024)] within 1e-5
