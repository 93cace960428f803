# RUN: nereid compile %s:counts --signature "*i64:16, *i64:16, i32" --target sm_90a --emit ptx | FileCheck %s
# `other=0.0` of integers is a zero that the registers hold before the load: nothing is selected behind it.
import triton
import triton.language as tl


# CHECK: ld.global.v2.b32
# CHECK-NOT: selp
@triton.jit
def counts(x, y, n):
    at = tl.arange(0, 256)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0) * 3, mask=at < n)
