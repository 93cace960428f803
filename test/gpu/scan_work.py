# RUN: nereid compile %s:powers --signature "*fp32:16, *fp32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s
# A thread has eight chunks of four elements: 3 * 8 combinations within them, 5 * 8 between lanes, 6 between chunks of all lanes, and
# one more for what lies before: 7 chunks and 3 * 8 elements.
import triton
import triton.language as tl


@triton.jit
def combine(a, b):
    return tl.exp2(a + b)


# CHECK-COUNT-101: ex2.approx
# CHECK-NOT: ex2.approx
@triton.jit
def powers(x_ptr, y_ptr):
    i = tl.arange(0, 1024)
    tl.store(y_ptr + i, tl.associative_scan(tl.load(x_ptr + i), 0, combine))
