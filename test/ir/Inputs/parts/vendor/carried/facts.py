import triton
import triton.language as tl

NUMBER = tl.constexpr(6)


@triton.jit
def twice(x):
    return x + x
