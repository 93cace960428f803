# nereid: run %s:kernel --arg p=zeros(8,f32) --grid "(1,)" --device tpu
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - - tpu
