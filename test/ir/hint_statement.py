# RUN: nereid compile %s:kernel --signature "*fp32, i32, i32" --emit tile | FileCheck %s
# A hint that stands alone marks its argument, as it does in Triton.
import triton
import triton.language as tl


@triton.jit
def kernel(p, n, m):
    # CHECK: %[[HINT:.*]] = tile.hint %arg1
    tl.multiple_of(n, 16)
    alias = m
    # CHECK: %[[INNER:.*]] = tile.hint %arg2
    # CHECK: %[[OUTER:.*]] = tile.hint %[[INNER]]
    tl.max_contiguous(tl.multiple_of(m, 8), 8)
    # CHECK: tile.addptr %arg0, %[[HINT]]
    # CHECK: tile.addptr %{{.*}}, %[[OUTER]]
    tl.store(p + n + alias, 1.0)
