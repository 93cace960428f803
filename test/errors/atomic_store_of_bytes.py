# nereid: compile %s:kernel --signature "*i8" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.atomic_store(p, 1)  # error: .:5 StaticAssertFailed atomic_load and atomic_store take elements of 32 or 64 bits
