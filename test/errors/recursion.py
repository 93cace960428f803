# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def down(x):
    return down(x * 2)  # error: .:12 RecursionTooDeep `down` calls itself without end


@triton.jit
def kernel(p):
    tl.store(p, down(tl.load(p)))
# hint: recursion must end while compiling
