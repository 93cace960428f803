# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def first(p, n):
    for i in range(0, n):
        return tl.load(p + i)  # error: .:9 ReturnInLoop can't leave a run-time loop
    return 0.0


@triton.jit
def kernel(p, n):
    tl.store(p, first(p, n))
