# check: square(x=randn(16x16,f16), N=16)
# A product has elements of every thread's loads.
import triton
import triton.language as tl


@triton.jit
def square(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = x + i[:, None] * N + i[None, :]
    a = tl.load(tile)
    b = tl.load(x + i[None, :] * N + i[:, None])
    tl.store(tile, tl.dot(a, b).to(tl.float16))
