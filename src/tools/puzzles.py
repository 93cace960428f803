# The puzzles of `nereid learn` (Learn.cpp). Each begins with `#%% NN_name: Title`; what follows is
# the file that a learner gets. `#%% hint` sections come next, one idea each, then `#%% spec` and
# `#%% reference` in the terms of a kernel folder: `run` gives the launches.

#%% 01_copy: Load and store
"""Copy the 64 numbers at `x` to `y`.

A program works on tiles: tensors whose size is known when it is compiled. `tl.arange(0, 64)` is
the tile 0, 1, ... 63. A pointer plus a tile of integers is a tile of pointers; `tl.load` reads what
they point at, `tl.store` writes.
"""
import triton
import triton.language as tl


@triton.jit
def copy(x, y):
    i = tl.arange(0, 64)
    # Your code: load from x + i, store to y + i.
#%% hint
`tl.load(x + i)` is a tile of 64 numbers. Give it a name.
#%% hint
`tl.store(pointers, values)` takes the tile of pointers first.
#%% spec
cases = [dict(n=64)]
inputs = lambda n: dict(x=randn((n,), "f32"))
outputs = lambda n: dict(y=empty((n,), "f32"))
run = lambda x, y: [launch("copy", (1,), x, y)]
#%% reference
reference = lambda x: dict(y=x)

#%% 02_add: Arithmetic on tiles
"""Write `x + 10 * y` to `out`, for 128 numbers each.

Operators work on whole tiles, element by element, and numbers mix with tiles. `BLOCK` is a
`tl.constexpr`: known when the kernel is compiled, so that it may be the size of a tile.
"""
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, BLOCK: tl.constexpr):
    # Your code.
    pass
#%% hint
You need `tl.arange(0, BLOCK)` once, two loads and one store.
#%% spec
cases = [dict(n=128)]
inputs = lambda n: dict(x=randn((n,), "f32"), y=randn((n,), "f32"))
outputs = lambda n: dict(out=empty((n,), "f32"))
run = lambda x, y, out, n: [launch("add", (1,), x, y, out, BLOCK=n)]
#%% reference
reference = lambda x, y: dict(out=x + 10 * y)

#%% 03_mask: Masks
"""Double the `n` numbers at `x` into `y`, where `n` is not a power of two.

The size of a tile must be a power of two: `BLOCK` is 128 where `n` is 100. The lanes beyond `n`
must touch no memory. `mask=` of `tl.load` and `tl.store` says which lanes do.
"""
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    # Your code.
#%% hint
`i < n` is a tile of booleans.
#%% hint
Both the load and the store need the mask: reading beyond the end is as wrong as writing there.
#%% spec
cases = [dict(n=100), dict(n=1), dict(n=128)]
inputs = lambda n: dict(x=randn((n,), "f32"))
outputs = lambda n: dict(y=empty((n,), "f32"))
run = lambda x, y, n: [launch("double", (1,), x, y, n, BLOCK=128)]
#%% reference
reference = lambda x: dict(y=2 * x)

#%% 04_grid: Many programs
"""Add `x` and `y` of any length `n`.

A launch runs a grid of programs, here `cdiv(n, BLOCK)` of them, all with the same arguments.
`tl.program_id(0)` tells a program which one it is: program 0 takes the first `BLOCK` elements,
program 1 the next ones, and so on. The last one may have fewer.
"""
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    # Your code.
    pass
#%% hint
The elements of program `p` begin at `p * BLOCK`.
#%% hint
`i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)`; then as before, with a mask.
#%% spec
cases = [dict(n=1000), dict(n=64), dict(n=65)]
inputs = lambda n: dict(x=randn((n,), "f32"), y=randn((n,), "f32"))
outputs = lambda n: dict(out=empty((n,), "f32"))
run = lambda x, y, out, n: [launch("add", (cdiv(n, 64),), x, y, out, n, BLOCK=64)]
#%% reference
reference = lambda x, y: dict(out=x + y)

#%% 05_fuse: One pass over memory
"""Compute `max(a * x + b, 0)` in one kernel; `a` and `b` are numbers.

Three kernels, one an operation, would read and write all of `x` three times. Here each element is
read once and written once, and what lies between stays in registers. Elementwise work costs what
its memory costs, so fusing three operations is worth about a factor of three.
"""
import triton
import triton.language as tl


@triton.jit
def scale_shift_relu(x, y, a, b, n, BLOCK: tl.constexpr):
    # Your code.
    pass
#%% hint
`tl.maximum(p, q)` works element by element.
#%% spec
cases = [dict(n=1000)]
inputs = lambda n: dict(x=randn((n,), "f32"))
outputs = lambda n: dict(y=empty((n,), "f32"))
run = lambda x, y, n: [launch("scale_shift_relu", (cdiv(n, 256),), x, y, 1.5, -0.25, n, BLOCK=256)]
#%% reference
import numpy as np
reference = lambda x: dict(y=np.maximum(1.5 * x - 0.25, 0))

#%% 06_outer: Broadcasting
"""Write the table `out[i, j] = a[i] + b[j]` for 32 rows and 64 columns, `out` row by row.

`t[:, None]` makes a column of a tile and `t[None, :]` a row. A column and a row together give a
whole table, as in NumPy: that also makes the table of pointers, `row * 64 + column`.
"""
import triton
import triton.language as tl


@triton.jit
def outer(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    # Your code.
#%% hint
Load `a` and `b` as plain tiles first, then turn one into a column and the other into a row.
#%% hint
The place of row i, column j is `out + i[:, None] * N + j[None, :]`.
#%% spec
cases = [dict(M=32, N=64)]
inputs = lambda M, N: dict(a=randn((M,), "f32"), b=randn((N,), "f32"))
outputs = lambda M, N: dict(out=empty((M, N), "f32"))
run = lambda a, b, out, M, N: [launch("outer", (1,), a, b, out, M=M, N=N)]
#%% reference
reference = lambda a, b: dict(out=a[:, None] + b[None, :])

#%% 07_transpose: Two dimensions, strides and a grid of two axes
"""Write the transpose of `x` (M rows, N columns) to `y` (N rows, M columns), tile by tile.

The grid has two axes: program (p, q) moves the tile of rows `p * B` to `p * B + B` and columns
`q * B` to `q * B + B`. A stride says how many elements lie between one row and the next: `x` has
some padding after each row, so use `stride_x` and `stride_y`, not N and M.
"""
import triton
import triton.language as tl


@triton.jit
def transpose(x, y, M, N, stride_x, stride_y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    # Your code.
#%% hint
A mask of two dimensions: `(i[:, None] < M) & (j[None, :] < N)`.
#%% hint
You may store the tile as it is: only the pointers of the store differ. Element (i, j) goes to
`y + j * stride_y + i`.
#%% spec
cases = [dict(M=50, N=70), dict(M=16, N=16)]
inputs = lambda M, N: dict(x=randn((M, N), "f32", strides=(N + 3, 1)))
outputs = lambda M, N: dict(y=empty((N, M), "f32"))
run = lambda x, y, M, N: [launch("transpose", (cdiv(M, 16), cdiv(N, 16)), x, y, M, N, x.stride(0), y.stride(0), B=16)]
#%% reference
reference = lambda x: dict(y=x.T)

#%% 08_rowsum: Reductions
"""Sum each row of `x` (M rows, N columns) into `out[row]`. One program takes one row.

`tl.sum(tile, axis=0)` makes a number of a tile of one dimension. Lanes beyond N must not count:
`other=` of `tl.load` says what they hold.
"""
import triton
import triton.language as tl


@triton.jit
def row_sum(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # Your code.
#%% hint
`tl.load(pointers, mask=..., other=0.0)`.
#%% hint
A number is stored to one pointer: `tl.store(out + row, total)`.
#%% spec
cases = [dict(M=5, N=100), dict(M=3, N=128)]
inputs = lambda M, N: dict(x=randn((M, N), "f32"))
outputs = lambda M, N: dict(out=empty((M,), "f32"))
run = lambda x, out, M, N: [launch("row_sum", (M,), x, out, N, BLOCK=128)]
#%% reference
import numpy as np
reference = lambda x: dict(out=np.sum(x, axis=1))

#%% 09_loop: Rows longer than a tile
"""The greatest element of each row, where a row has N = 1000 elements and a tile only 128.

A loop over the row keeps a tile of BLOCK running maxima; one reduction after the loop makes a
number of it. `range` works as in Python. All numbers may be negative: begin with what is less
than any of them.
"""
import triton
import triton.language as tl


@triton.jit
def row_max(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # Your code.
#%% hint
`best = tl.full([BLOCK], float("-inf"), tl.float32)`, then `for start in range(0, N, BLOCK):`.
#%% hint
In the loop: `best = tl.maximum(best, tile)`, where masked lanes hold minus infinity too.
#%% hint
After the loop: `tl.max(best, axis=0)`.
#%% spec
cases = [dict(M=4, N=1000), dict(M=2, N=128), dict(M=2, N=5)]
inputs = lambda M, N: dict(x=randn((M, N), "f32", mean=-10))
outputs = lambda M, N: dict(out=empty((M,), "f32"))
run = lambda x, out, M, N: [launch("row_max", (M,), x, out, N, BLOCK=128)]
#%% reference
import numpy as np
reference = lambda x: dict(out=np.max(x, axis=1))

#%% 10_softmax: Softmax, without overflow
"""Softmax of each row: `exp(x) / sum(exp(x))`, one program a row.

The numbers are around 1000 or -1000, and exp(1000) is infinite. Subtracting the row's maximum from all of
it changes nothing of the result and makes the greatest exponent zero. All in one kernel: the row
is read once.
"""
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # Your code.
#%% hint
What `other=` makes masked lanes add nothing, neither to the maximum nor to the sum?
#%% hint
With `other=float("-inf")`, `tl.exp(row - maximum)` is zero in masked lanes.
#%% spec
cases = [dict(M=4, N=100, mean=1000), dict(M=3, N=100, mean=-1000), dict(M=2, N=128, mean=1000)]
inputs = lambda M, N, mean: dict(x=randn((M, N), "f32", mean=mean, std=3))
outputs = lambda M, N: dict(y=empty((M, N), "f32"))
run = lambda x, y, M, N: [launch("softmax", (M,), x, y, N, BLOCK=128)]
#%% reference
import numpy as np
def reference(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return dict(y=e / np.sum(e, axis=1, keepdims=True))

#%% 11_online: The online maximum and sum
"""`log(sum(exp(x)))` of each row in one pass over it, where the row has several tiles.

A maximum `m` and a sum `s` of `exp(x - m)` belong together. When a tile brings a greater maximum,
the sum so far shrinks by `exp(old - new)`: then it is a sum relative to the new one. This
step is the heart of FlashAttention.
"""
import triton
import triton.language as tl


@triton.jit
def log_sum_exp(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = float("-inf")
    s = 0.0
    # Your code: for each tile of the row, a new m and a new s.
#%% hint
`new = tl.maximum(m, tl.max(tile, axis=0))` is the maximum so far.
#%% hint
`s = s * tl.exp(m - new) + tl.sum(tl.exp(tile - new), axis=0)`, then `m = new`.
#%% hint
The result is `m + tl.log(s)`.
#%% spec
cases = [dict(M=3, N=1000, mean=500), dict(M=3, N=1000, mean=-500), dict(M=2, N=64, mean=500)]
inputs = lambda M, N, mean: dict(x=randn((M, N), "f32", mean=mean, std=4))
outputs = lambda M, N: dict(out=empty((M,), "f32"))
run = lambda x, out, M, N: [launch("log_sum_exp", (M,), x, out, N, BLOCK=64)]
#%% reference
import numpy as np
def reference(x):
    m = np.max(x, axis=1)
    return dict(out=m + np.log(np.sum(np.exp(x - m[:, None]), axis=1)))

#%% 12_layernorm: Layer norm
"""`(x - mean) / sqrt(variance + eps) * w + b` for each row; `eps` is 1e-5.

Mean and variance are of the row alone. Beware of masked lanes: zero is fine for the mean, but
`0 - mean` is not zero when it is squared.
"""
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, w, b, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # Your code.
#%% hint
`tl.where(mask, row - mean, 0.0)` before squaring.
#%% hint
`tl.rsqrt(v)` is `1 / sqrt(v)`.
#%% spec
cases = [dict(M=4, N=100), dict(M=1, N=128)]
inputs = lambda M, N: dict(x=randn((M, N), "f32", mean=3, std=2), w=randn((N,), "f32"), b=randn((N,), "f32"))
outputs = lambda M, N: dict(y=empty((M, N), "f32"))
run = lambda x, w, b, y, M, N: [launch("layer_norm", (M,), x, w, b, y, N, BLOCK=128)]
tolerance = dict(rel=1e-4, abs=1e-5)
#%% reference
import numpy as np
def reference(x, w, b):
    c = x - np.mean(x, axis=1, keepdims=True)
    return dict(y=c / np.sqrt(np.mean(c * c, axis=1, keepdims=True) + 1e-5) * w + b)

#%% 13_dot: A product of two tiles
"""`c = a @ b` for matrices of 32 x 32, in one program.

`tl.dot(p, q)` multiplies a tile of M x K by one of K x N; on a GPU it runs on the tensor cores. Its
sums are f32. `input_precision="ieee"` keeps f32 operands exact.
"""
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, N: tl.constexpr):
    # Your code.
    pass
#%% hint
All three matrices have the same table of places: `i[:, None] * N + i[None, :]`.
#%% spec
cases = [dict(N=32)]
inputs = lambda N: dict(a=randn((N, N), "f32"), b=randn((N, N), "f32"))
outputs = lambda N: dict(c=empty((N, N), "f32"))
run = lambda a, b, c, N: [launch("product", (1,), a, b, c, N=N)]
tolerance = dict(rel=1e-4, abs=1e-4)
#%% reference
reference = lambda a, b: dict(c=a @ b)

#%% 14_matmul: Matrix product over K
"""`c = a @ b` for M x K and K x N of any size; program (p, q) makes the tile (p, q) of `c`.

A loop over K adds up products of small tiles: `acc += tl.dot(tile of a, tile of b)`. Each element
of `a` and `b` is read by few programs instead of by every element of `c`: tiling is what
makes a product bound by arithmetic and not by memory.
"""
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    # Your code. a has M rows of K, b has K rows of N, c has M rows of N. Use input_precision="ieee".
#%% hint
`acc = tl.zeros((B, B), tl.float32)`, then `for start in range(0, K, B):` with `k = start + tl.arange(0, B)`.
#%% hint
Both loads need masks of two dimensions, and `other=0.0`, so that what lies beyond K adds nothing.
#%% spec
cases = [dict(M=40, N=50, K=70), dict(M=32, N=16, K=64)]
inputs = lambda M, N, K: dict(a=randn((M, K), "f32"), b=randn((K, N), "f32"))
outputs = lambda M, N: dict(c=empty((M, N), "f32"))
run = lambda a, b, c, M, N, K: [launch("matmul", (cdiv(M, 16), cdiv(N, 16)), a, b, c, M, N, K, B=16)]
tolerance = dict(rel=1e-4, abs=1e-4)
#%% reference
reference = lambda a, b: dict(c=a @ b)

#%% 15_epilogue: Half precision and an epilogue
"""`c = relu(a @ b + bias)` in f16, with sums in f32; all sizes are multiples of the tile's.

Sums of many f16 numbers must not be rounded to f16 on the way: `tl.dot` of f16 tiles gives f32,
and `acc` stays f32 until the end. Bias and relu come before the one rounding, while the numbers are
still in registers.
"""
import triton
import triton.language as tl


@triton.jit
def linear_relu(a, b, bias, c, N, K, B: tl.constexpr):
    # Your code.
    pass
#%% hint
`acc += bias[None, :]` with the bias of the tile's columns; `.to(tl.float16)` last.
#%% spec
cases = [dict(M=32, N=64, K=128)]
inputs = lambda M, N, K: dict(a=randn((M, K), "f16"), b=randn((K, N), "f16"), bias=randn((N,), "f16", std=8))
outputs = lambda M, N: dict(c=empty((M, N), "f16"))
run = lambda a, b, bias, c, M, N, K: [launch("linear_relu", (M // 16, N // 16), a, b, bias, c, N, K, B=16)]
tolerance = dict(rel=eps("f16"), abs=1e-4)
#%% reference
import numpy as np
reference = lambda a, b, bias: dict(c=np.maximum(a @ b + bias, 0))

#%% 16_histogram: Atomics
"""Count how often each number of 0 ... 15 occurs in `x`; `counts` holds zeros at first.

Programs run in any order and at the same time: when two add to one place by load and store, one
addition gets lost. `tl.atomic_add(pointers, values, mask=...)` adds in one piece.
"""
import triton
import triton.language as tl


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    # Your code.
    pass
#%% hint
The numbers themselves say where to add: `counts + tl.load(x + i, ...)`.
#%% spec
cases = [dict(n=1000)]
def inputs(n):
    return dict(x=randint((n,), 0, 16, "i32"), counts=zeros((16,), "i32"))
outputs = lambda counts: dict(counts=counts)
run = lambda x, counts, n: [launch("histogram", (cdiv(n, 128),), x, counts, n, BLOCK=128)]
#%% reference
import numpy as np
reference = lambda x: dict(counts=np.sum(x[None, :] == np.arange(16)[:, None], axis=1))

#%% 17_scan: Running sums
"""`y[i] = x[0] + ... + x[i]` for each row of N = 300 numbers, in tiles of 128.

`tl.cumsum(tile, axis=0)` is the running sum of a tile. What the tiles before have added up to must
be carried along.
"""
import triton
import triton.language as tl


@triton.jit
def running_sum(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # Your code.
#%% hint
Carry a number: `total += tl.sum(tile, axis=0)` at the end of each step.
#%% spec
cases = [dict(M=3, N=300), dict(M=1, N=128)]
inputs = lambda M, N: dict(x=randn((M, N), "f32"))
outputs = lambda M, N: dict(y=empty((M, N), "f32"))
run = lambda x, y, M, N: [launch("running_sum", (M,), x, y, N, BLOCK=128)]
tolerance = dict(rel=1e-4, abs=1e-4)
#%% reference
import numpy as np
reference = lambda x: dict(y=np.cumsum(x, axis=1))

#%% 18_dropout: Random numbers from a seed
"""Keep each element with probability `1 - p` and scale it by `1 / (1 - p)`; else write zero.

`tl.rand(seed, i)` is a number of [0, 1) that depends on seed and place alone. So the backward pass
makes the same decisions again and no mask is stored. Keep an element where the number is greater
than `p`.
"""
import triton
import triton.language as tl


@triton.jit
def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    # Your code.
    pass
#%% hint
`tl.where(keep, x / (1 - p), 0.0)`.
#%% hint
The place is that in the whole tensor, not in the tile.
#%% spec
cases = [dict(n=1000)]
inputs = lambda n: dict(x=randn((n,), "f32"))
outputs = lambda n: dict(y=empty((n,), "f32"))
run = lambda x, y, n: [launch("dropout", (cdiv(n, 256),), x, y, n, 0.25, 1234, BLOCK=256)]
#%% reference
import numpy as np
from nereid.reference import uniform
def reference(x, n):
    return dict(y=np.where(uniform(1234, np.arange(n)) > 0.25, x / 0.75, 0))

#%% 19_quantised: A product with 8-bit weights
"""`y = x @ (w * scale)`, where `w` holds 8-bit integers and each of its columns has a scale.

Weights of 8 bits are half the bytes of f16: where a product is bound by reading them, as in decoding,
that is twice the speed. The scale of a column is the same for all of K, so it need not be applied
in the loop.
"""
import triton
import triton.language as tl


@triton.jit
def matmul_int8(x, w, scale, y, N, K, B: tl.constexpr):
    # Your code. x is f16, M rows of K; w is int8, K rows of N; y is f32, M rows of N.
    pass
#%% hint
`.to(tl.float16)` turns small integers into f16 without loss.
#%% hint
After the loop: `acc * scale[None, :]`.
#%% spec
cases = [dict(M=16, N=64, K=96)]
inputs = lambda M, N, K: dict(x=randn((M, K), "f16"), w=randint((K, N), -127, 128, "i8"), scale=rand((N,), "f32", low=0.001, high=0.01))
outputs = lambda M, N: dict(y=empty((M, N), "f32"))
run = lambda x, w, scale, y, M, N, K: [launch("matmul_int8", (M // 16, N // 16), x, w, scale, y, N, K, B=16)]
tolerance = dict(rel=1e-4, abs=1e-4)
#%% reference
reference = lambda x, w, scale: dict(y=(x @ w.astype("float64")) * scale)

#%% 20_attention: FlashAttention, forward
"""`softmax(q @ k.T / sqrt(D)) @ v` for one head, without the table of all scores.

Program p takes the queries `p * B` to `p * B + B` and walks over the keys, B at a time. It keeps a
maximum `m` and a sum `s` a query (as in puzzle 11), and the weighted sum of values `acc`. When `m`
grows, `s` and `acc` shrink together. In the end: `acc / s`.
"""
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, out, n, scale, B: tl.constexpr, D: tl.constexpr):
    # Your code. All four are n rows of D, and n is a multiple of B. Use input_precision="ieee".
    pass
#%% hint
The scores of one step: `tl.dot(tile of q, tl.trans(tile of k)) * scale`, B x B.
#%% hint
`new = tl.maximum(m, tl.max(scores, axis=1))`, `shrink = tl.exp(m - new)`, `p = tl.exp(scores - new[:, None])`.
#%% hint
`s = s * shrink + tl.sum(p, axis=1)` and `acc = acc * shrink[:, None] + tl.dot(p, tile of v)`.
#%% spec
cases = [dict(n=64, D=32), dict(n=16, D=16)]
inputs = lambda n, D: dict(q=randn((n, D), "f32"), k=randn((n, D), "f32"), v=randn((n, D), "f32"))
outputs = lambda n, D: dict(out=empty((n, D), "f32"))
run = lambda q, k, v, out, n, D: [launch("attention", (n // 16,), q, k, v, out, n, 1 / sqrt(D), B=16, D=D)]
tolerance = dict(rel=1e-4, abs=1e-4)
#%% reference
import numpy as np
def reference(q, k, v, D):
    x = q @ k.T / np.sqrt(D)
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return dict(out=(e / np.sum(e, axis=1, keepdims=True)) @ v)

#%% 21_causal: Causal attention, and work not done
"""The same, but a query sees no key after its own place: query i sees keys 0 to i.

Tiles of keys that lie wholly after the queries need not be visited at all: that is half of the
work. The tile on the diagonal needs a mask. n need not be a multiple of B here.
"""
import triton
import triton.language as tl


@triton.jit
def causal_attention(q, k, v, out, n, scale, B: tl.constexpr, D: tl.constexpr):
    # Your code. All four are n rows of D. Use input_precision="ieee".
    pass
#%% hint
The loop ends after the last query of the program: `range(0, (tl.program_id(0) + 1) * B, B)`.
#%% hint
`tl.where(i[:, None] >= j[None, :], scores, float("-inf"))`; the first tile of keys always leaves
something of each row, so no maximum stays at minus infinity.
#%% spec
cases = [dict(n=50, D=32), dict(n=32, D=16)]
inputs = lambda n, D: dict(q=randn((n, D), "f32"), k=randn((n, D), "f32"), v=randn((n, D), "f32"))
outputs = lambda n, D: dict(out=empty((n, D), "f32"))
run = lambda q, k, v, out, n, D: [launch("causal_attention", (cdiv(n, 16),), q, k, v, out, n, 1 / sqrt(D), B=16, D=D)]
tolerance = dict(rel=1e-4, abs=1e-4)
#%% reference
import numpy as np
def reference(q, k, v, n, D):
    x = np.where(np.arange(n)[:, None] >= np.arange(n)[None, :], q @ k.T / np.sqrt(D), -np.inf)
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return dict(out=(e / np.sum(e, axis=1, keepdims=True)) @ v)
