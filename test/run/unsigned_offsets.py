# run: ref cpu gpu
# Unsigned numbers wrap around where an offset is negative: what lies behind the mask is far away, and the next lane is the first element.
import triton
import triton.language as tl


@triton.jit
def shifted(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N).to(tl.uint32)
    at = i + n.to(tl.uint32) - 3
    tl.store(y + at, tl.load(x + i), mask=i + n >= 3)


@triton.jit
def gathered(x, y, n, N: tl.constexpr, WIDE: tl.constexpr):
    i = tl.arange(0, N)
    at = (i + n).to(tl.uint32)
    if WIDE:
        at = at.to(tl.uint64)
    tl.store(y + i, tl.load(x + at, mask=i + n >= 0, other=-1))


# Bytes wrap around at 256.
@triton.jit
def bytes_wrap(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N).to(tl.uint8) + n.to(tl.uint8)
    tl.store(y + tl.arange(0, N), tl.load(x + at))


# expect: shifted(x=iota(32), n=2, N=32) -> y == list(range(1, 32))
# expect: shifted(x=iota(32), n=3, N=32) -> y == list(range(32))
# expect: gathered(x=iota(64), n=-5, N=64, WIDE=False) -> y == [-1] * 5 + list(range(59))
# expect: gathered(x=iota(64), n=-5, N=64, WIDE=True) -> y == [-1] * 5 + list(range(59))
# expect: gathered(x=iota(64), n=0, N=64, WIDE=True) -> y == list(range(64))
# expect: bytes_wrap(x=iota(256), n=200, N=128) -> y == [(i + 200) % 256 for i in range(128)]
