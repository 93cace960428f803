"""Day 18: an order of tiles that the L2 cache likes.

See:    programs run about in the order of their numbers. 132 of them in row order, over 64 x 64 tiles, want 3 rows of tiles of A and all 64 columns of B: 67
        panels. In groups of 8 rows they want 8 of A and 17 of B: 25. Same work, less than half of the reads from memory.
Run:    nereid test day18_l2_order
        nereid run day18_l2_order/kernel.py:order --grid "(32,)" --arg "out=zeros(4x8,i32)" --arg ROWS=4 --arg COLUMNS=8 --const GROUP=2 --print out
        (on a GPU) nereid bench day18_l2_order --match large
Change: GROUP: 1 is row order, ROWS is column order.
"""
doc = "Which program takes which tile, and products in row and in grouped order"
library = "../../../kernels/matmul/kernel.py"


def product(a, b, c, M, N, K, GROUP):
    return [launch(f"{library}:matmul", (cdiv(M, 64) * cdiv(N, 64),), a, b, None, c, M, N, K, *a.strides, *b.strides, *c.strides,
                   BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=GROUP, ACTIVATION="none", PRECISION="ieee")]


tasks = dict(
    order=dict(
        inputs=lambda: dict(), outputs=lambda ROWS, COLUMNS: dict(out=empty((ROWS, COLUMNS), "i32")),
        variants=dict(order=lambda out, ROWS, COLUMNS, GROUP: [launch("order", (ROWS * COLUMNS,), out, ROWS, COLUMNS, GROUP=GROUP)]),
        cases=[dict(ROWS=r, COLUMNS=c, GROUP=g) for (r, c, g) in ((4, 8, 1), (4, 8, 2), (7, 5, 3), (3, 4, 8))],
        tolerance=dict(rel=0, abs=0),
    ),
    product=dict(
        inputs=lambda M, N, K: dict(a=randn((M, K), "f16"), b=randn((K, N), "f16")),
        outputs=lambda M, N: dict(c=empty((M, N), "f32")),
        variants=dict(grouped=lambda a, b, c, M, N, K: product(a, b, c, M, N, K, 8),
                      row_order=lambda a, b, c, M, N, K: product(a, b, c, M, N, K, 1)),
        cases=[dict(M=200, N=150, K=70)],
        bench=[dict(label="large", M=8192, N=8192, K=8192)],
        tolerance=lambda K: dict(rel=8 * eps("f32"), abs=1.2 * K * eps("f32")),
        flops=lambda M, N, K: 2 * M * N * K,
    ),
)
