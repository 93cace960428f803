# run: ref cpu gpu
# Short rows that stand apart are fetched some rows ahead where a launch writes much: behind the last row nothing is looked up.
# All programs write the same, so what is written stays small.
import triton
import triton.language as tl


@triton.jit
def looked_up(table, rows, y, n, stride, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    row = tl.load(rows + r, mask=r < n, other=0)
    value = tl.load(table + row[:, None] * stride + c[None, :], mask=(r < n)[:, None], other=-1)
    tl.store(y + r[:, None] * N + c[None, :], value + 1, mask=(r < n)[:, None])

# expect: looked_up[600](table=iota(400,i32), rows=[3, 1, 4, 1, 5, 9, 2, 6, 0, 7, 8]:i32, y=zeros(256,i32), n=11, stride=40, M=16, N=16)
#     -> y == [[3, 1, 4, 1, 5, 9, 2, 6, 0, 7, 8][i // 16] * 40 + i % 16 + 1 if i // 16 < 11 else 0 for i in range(256)]
# expect: looked_up[1200](table=iota(400,i32), rows=[3, 1, 4, 1, 5, 9, 2, 6, 0, 7, 8]:i32, y=zeros(256,i32), n=11, stride=40, M=16, N=16)
#     -> y == [[3, 1, 4, 1, 5, 9, 2, 6, 0, 7, 8][i // 16] * 40 + i % 16 + 1 if i // 16 < 11 else 0 for i in range(256)]


@triton.jit
def added_up(x, y, n, stride, N: tl.constexpr):
    c = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for i in range(n):
        total += tl.load(x + i * stride + c)
    tl.store(y + c, total)

# expect: added_up(x=iota(1000,f32), y=zeros(128,f32), n=7, stride=140, N=128) -> y == [7.0 * i + 140 * 21 for i in range(128)]
# expect: added_up(x=iota(1000,f32), y=zeros(128,f32), n=7, stride=128, N=128) -> y == [7.0 * i + 128 * 21 for i in range(128)]


# Tiles of rows that a loop adds up: element by element, along the rows and down the columns. The last round fetches what is behind the end.
@triton.jit
def tiles(x, y, M, N, AXIS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    if AXIS == 1:
        all = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        last = tl.zeros([BLOCK_M], tl.float32)
        for at in range(0, N, BLOCK_N):
            c = at + tl.arange(0, BLOCK_N)
            tile = tl.load(x + r[:, None] * N + c[None, :], mask=(r < M)[:, None] & (c < N)[None, :], other=0.0)
            all += tile
            last = tl.maximum(last, tl.max(tl.load(x + r[:, None] * N + c[None, :], mask=(r < M)[:, None] & (c < N)[None, :], other=0.0), 1))
        tl.store(y + r, tl.sum(all, 1) + last, mask=r < M)
    else:
        c = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
        total = tl.zeros([BLOCK_N], tl.float32)
        for at in range(0, M, BLOCK_M):
            r = at + tl.arange(0, BLOCK_M)
            total += tl.sum(tl.load(x + r[:, None] * N + c[None, :], mask=(r < M)[:, None] & (c < N)[None, :], other=0.0), 0)
        tl.store(y + c, total, mask=c < N)

# expect: tiles[2](x=iota(3000,f32), y=zeros(32,f32), M=15, N=200, AXIS=1, BLOCK_M=8, BLOCK_N=64) -> y == [200 * 200 * i + 199 * 100 + 200 * i + 199 if i < 15 else 0 for i in range(32)]
# expect: tiles[4](x=iota(3000,f32), y=zeros(256,f32), M=15, N=200, AXIS=0, BLOCK_M=8, BLOCK_N=64) -> y == [15 * c + 200 * 105 if c < 200 else 0 for c in range(256)]
