# nereid: run %s:kernel --arg p=zeros(8,f32) --grid "(1,)" --device ref
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, 16), 0.0)  # error: .:5 OutOfBounds `p`
