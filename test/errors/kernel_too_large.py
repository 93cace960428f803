# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    for i in tl.static_range(100000):
        for j in tl.static_range(100000):
            tl.store(p + i + j, 0.0)  # error: .|.-1|.-2 KernelTooLarge operations
# hint: tl.range
