# nereid: list no_such_folder/kernel.py
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - - cannot read `no_such_folder/kernel.py`
