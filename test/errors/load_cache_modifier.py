# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p, cache_modifier=".zz")  # error: .:9 WrongArgument `cache_modifier` is `.zz`
    tl.store(p, x)
# hint: .cg
