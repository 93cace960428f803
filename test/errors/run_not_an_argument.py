# nereid: run %s:kernel --arg zeros(8,f32) --grid "(1,)" --device ref
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - - argument `zeros(8,f32)` is not NAME=VALUE
