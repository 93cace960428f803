# run: ref cpu gpu
# Lanes that stand apart by a number known while compiling: columns of a narrow matrix, reversed, repeated and
# wrapped elements. The CPU reads and writes the vectors that cover them.
import triton
import triton.language as tl


@triton.jit
def columns(x, y, n, STEP: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    for c in tl.static_range(STEP):
        tl.store(y + at * STEP + (STEP - 1 - c), tl.load(x + at * STEP + c, mask=at < n, other=0) + 1, mask=at < n)

# expect: columns[1](x=arange(128,f32), y=zeros(130,f32), n=64, STEP=2, B=64) -> y == [i // 2 * 2 + 2 - i % 2 for i in range(128)] + [0, 0]
# expect: columns[2](x=arange(140,f32), y=zeros(150,f32), n=70, STEP=2, B=64) -> y == [i // 2 * 2 + 2 - i % 2 for i in range(140)] + [0] * 10
# expect: columns[4](x=arange(300,i32), y=zeros(300,i32), n=100, STEP=3, B=32) -> y == [i // 3 * 3 + 3 - i % 3 for i in range(300)]
# expect: columns[1](x=arange(256,f16), y=zeros(256,f16), n=64, STEP=4, B=64) -> y == [i // 4 * 4 + 4 - i % 4 for i in range(256)]
# expect: columns[2](x=arange(120,i8), y=zeros(128,i8), n=30, STEP=4, B=16) -> y == [i // 4 * 4 + 4 - i % 4 for i in range(120)] + [0] * 8
# expect: columns[1](x=arange(320,i64), y=zeros(320,i64), n=64, STEP=5, B=64) -> y == [i // 5 * 5 + 5 - i % 5 for i in range(320)]


@triton.jit
def others(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + B - 1 - i, tl.load(x + i))
    tl.store(y + B + i, tl.load(x + i // 4) * 10 + tl.load(x + i % 8))
    tl.store(y + 2 * B + i, tl.load(x + (i >> 1) + 3) + tl.load(x + B - 1 - i))

# expect: others(x=arange(64,f32), y=zeros(192,f32), B=64) -> y == [63 - i for i in range(64)] + [i // 4 * 10 + i % 8 for i in range(64)] + [i // 2 + 66 - i for i in range(64)]
# expect: others(x=arange(128,f16), y=zeros(384,f32), B=128) -> y == [127 - i for i in range(128)] + [i // 4 * 10 + i % 8 for i in range(128)] + [i // 2 + 130 - i for i in range(128)]


@triton.jit
def of_channels(x, w, y, n, channel, B: tl.constexpr):
    for first in range(0, n, B):
        at = first + tl.arange(0, B)
        inside = at < n
        tl.store(y + at, tl.load(x + at, mask=inside) + 1000 * tl.load(w + at // channel, mask=inside), mask=inside)

# expect: of_channels(x=arange(300,f32), w=arange(10,f32), y=zeros(300,f32), n=300, channel=40, B=128) -> y == [i + i // 40 * 1000 for i in range(300)]
# expect: of_channels(x=arange(300,f32), w=arange(301,f32), y=zeros(300,f32), n=300, channel=1, B=256) -> y == [i + i * 1000 for i in range(300)]


@triton.jit
def narrow(x, y, n, B: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :]
    a, b = tl.split(tl.load(x + at, mask=(tl.arange(0, B) < n)[:, None], other=0))
    tl.store(y + at, tl.join(b, a), mask=(tl.arange(0, B) < n)[:, None])

# expect: narrow(x=arange(128,f32), y=zeros(128,f32), n=64, B=64, C=2) -> y == [i ^ 1 for i in range(128)]
# expect: narrow(x=arange(128,bf16), y=zeros(128,bf16), n=60, B=64, C=2) -> y == [i ^ 1 for i in range(120)] + [0] * 8
