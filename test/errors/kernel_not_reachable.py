# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

WIDE = False

if WIDE:

    @triton.jit
    def kernel(p):  # error: .|.-1:1 KernelNotReachable module-level code does not define it here
        tl.store(p, 0.0)
# hint: --define
