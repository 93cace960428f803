# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton


@triton.jit
def kernel(p):
    tl.store(p, 0.0)  # error: .:5 UndefinedName `tl` is not defined
# hint: `import triton.language as tl`
