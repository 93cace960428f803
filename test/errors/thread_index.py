# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.thread_id(0), 0.0)  # error: .:18 NoAttribute `tl` has no `thread_id`
# hint: a program works on whole tiles
