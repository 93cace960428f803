# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def block(p, N: tl.constexpr):
    return p + tl.arange(0, N)  # error: .:16 NotConstexpr run-time value


@triton.jit
def kernel(p, n):
    tl.store(block(p, n), 0.0)
