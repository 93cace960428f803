# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def count(n: tl.constexpr):
    return 1 + count(n + 1)  # error: .:16 RecursionTooDeep `count` calls itself without end


@triton.jit
def kernel(p):
    tl.store(p, count(0))
