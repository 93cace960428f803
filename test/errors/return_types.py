# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def pick(n):
    if n > 3:
        return 1
    else:
        return 2.0  # error: .:9 ReturnMismatch run-time paths of the function return


@triton.jit
def kernel(p, n):
    tl.store(p, pick(n))
# hint: must agree in type
