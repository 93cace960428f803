import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, N: tl.constexpr, NAME: tl.constexpr, WANTED: tl.constexpr):
    tl.static_assert(NAME == WANTED)
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i))
