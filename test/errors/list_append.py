# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    parts = []
    for i in tl.static_range(4):
        parts.append(tl.load(p + i))  # error: .:9 NoAttribute `tuple` has no attribute `append`
# hint: lists in kernels are tuples
