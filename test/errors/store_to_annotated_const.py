# nereid: compile %s:kernel --signature "*fp32, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p: tl.const, q: "tl.const"):
    x = tl.load(p) + tl.load(q)
    tl.store(p + 1, x)  # error: .:5 ConstPointer `tl.store` writes through a constant pointer
# hint: annotated `tl.const`
