# nereid: compile %s:kernel --signature "*i32, *u32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, q):
    i = tl.arange(0, 8)
    tl.store(p + i, tl.load(p + i) // tl.load(q + i))  # error: .:21 MixedSignedness mixes signed and unsigned
# hint: same signedness
