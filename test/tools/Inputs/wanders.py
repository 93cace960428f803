import triton
import triton.language as tl


@triton.jit
def far(x):
    tl.store(x + (1 << 44), 1.0)
