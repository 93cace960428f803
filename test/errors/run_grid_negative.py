# nereid: run %s:kernel --arg p=zeros(8,f32) --grid "(-2,)" --device ref
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - - extent 0 of the grid
