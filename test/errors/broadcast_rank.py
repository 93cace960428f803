# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 32)
    tile = tl.load(p + i[:, None] * 32 + i[None, :])
    row = tl.load(p + tl.arange(0, 16))
    tl.store(p + i[:, None] * 32 + i[None, :], tile + row)  # error: .:48 IncompatibleShapes differ
