# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    a, b = tl.split(tl.load(p + tl.arange(0, 8)))  # error: .:12 SplitShape needs a last dimension of extent 2
    tl.store(p, tl.sum(a, 0))
# hint: reshape
