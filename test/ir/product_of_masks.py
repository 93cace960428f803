# RUN: nereid compile %s:kernel --signature "*fp32, i32, i32" --emit tile | FileCheck %s
# The product of two masks is what `&` makes of them.
import triton
import triton.language as tl


@triton.jit
def kernel(p, n, m):
    i = tl.arange(0, 16)[:, None]
    j = tl.arange(0, 32)[None, :]
    # CHECK-NOT: arith.muli {{.*}}xi1>
    # CHECK:     arith.andi {{.*}} : tensor<16x32xi1>
    # CHECK-NOT: arith.muli {{.*}}xi1>
    tl.store(p + i * 32 + j, i + j, mask=(i < n) * (j < m))
