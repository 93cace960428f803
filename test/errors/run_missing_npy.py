# nereid: run %s:kernel --arg p=no_such_file.npy --grid "(1,)" --device ref
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - - cannot read `no_such_file.npy`
