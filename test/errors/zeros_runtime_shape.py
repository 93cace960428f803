# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    acc = tl.zeros([n], tl.float32)  # error: .:11 NotConstexpr run-time value
    tl.store(p + tl.arange(0, 8), acc)
# hint: tl.constexpr
