# nereid: compile %s:k --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl
import triton.profiler.language as pl


@triton.jit
def k(x, n):
    with pl.scope("early"):  # error: .:5 UnsupportedSyntax a kernel can't return out of a `with` block
        # hint: keep the value in a variable and return it behind the block
        if n > 3:
            return
    tl.store(x, 1.0)
