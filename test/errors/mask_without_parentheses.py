# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    i = tl.arange(0, 16)
    tl.store(p + i, 1.0, mask=0 <= (i & 15) < n)
    tl.store(p + i, 0.0, mask=i >= 0 & i < n)  # error: .:36 OperandTypes `&` binds more tightly than the comparisons around it
# hint: `(i >= 0) & (i < n)`
