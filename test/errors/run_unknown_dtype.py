# nereid: run %s:kernel --arg p=zeros(8,f33) --grid "(1,)" --device ref
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - - f33
