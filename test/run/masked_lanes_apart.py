# run: ref cpu gpu
# Lanes at fixed distances under a mask: what is off is neither read nor written, nor what lies between the lanes.
import triton
import triton.language as tl


@triton.jit
def odd(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + 2 * i + 1, tl.load(x + 2 * i, mask=i < n, other=-1), mask=i < n)

# expect: odd(x=iota(26,f32), y=zeros(32,f32), n=13, N=16) -> y == [float(i - 1) if i % 2 and i < 26 else 0 for i in range(32)]
# expect: odd(x=iota(26,i16), y=zeros(64,i16), n=13, N=32) -> y:i16 == [i - 1 if i % 2 and i < 26 else 0 for i in range(64)]
# expect: odd(x=iota(200,f16), y=zeros(256,f16), n=100, N=128) -> y:f16 == [float(i - 1) if i % 2 and i < 200 else 0 for i in range(256)]


# Neighbours share a place, of which one may be off: every third lane is on.
@triton.jit
def shared(x, y, n, SHARE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    on = (i % 3 == 1) & (i < n)
    tl.store(y + i, tl.load(x + i // SHARE, mask=on, other=-1))

# expect: shared(x=iota(30,i32), y=zeros(64,i32), n=50, SHARE=2, N=64) -> y == [i // 2 if i % 3 == 1 and i < 50 else -1 for i in range(64)]
# expect: shared(x=iota(30,i32), y=zeros(64,i32), n=50, SHARE=16, N=64) -> y == [i // 16 if i % 3 == 1 and i < 50 else -1 for i in range(64)]


# One place for a whole row, which may not be read where all of it is off.
@triton.jit
def one(x, y, n, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)[:, None]
    c = tl.arange(0, N)[None, :]
    tl.store(y + r * N + c, tl.load(x + r + c * 0, mask=r * N + c < n, other=-1))

# expect: one(x=iota(3,i32), y=zeros(128,i32), n=70, M=4, N=32) -> y == [i // 32 if i < 70 else -1 for i in range(128)]
