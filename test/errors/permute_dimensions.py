# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    x = tl.permute(tl.load(p + i[:, None] + i[None, :]), (0, 0))  # error: .:9 NotAPermutation is not a permutation
    tl.store(p, tl.sum(tl.sum(x, 0), 0))
