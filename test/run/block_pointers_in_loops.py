# run: ref cpu gpu
# A name of a block pointer whose order, a hint, differs before a loop and in it.
import triton
import triton.language as tl


@triton.jit
def k(out, x, rows, N: tl.constexpr):
    p = tl.make_block_ptr(x, (rows, N), (N, 1), (0, 0), (N, N), (1, 0))
    total = tl.load(p)
    for j in range(0, 2):
        p = tl.make_block_ptr(x, (N, rows), (1, N), (0, j), (N, N), (0, 1))
        total += tl.load(p, boundary_check=(0, 1))
    i = tl.arange(0, N)
    tl.store(out + i[:, None] * N + i[None, :], total)


# x = [[0, 1], [2, 3]]: x + its transpose + the second row as a column.
# expect: k(x=iota(4), rows=2, N=2) -> out == [2, 3, 6, 6]
