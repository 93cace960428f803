# nereid: compile %s:kernel --signature "*fp32, 3" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, MODE: tl.constexpr):
    if MODE == 0:
        tl.store(p, 0.0)
    else:
        raise ValueError("no such mode")  # error: .:9 Raised no such mode
