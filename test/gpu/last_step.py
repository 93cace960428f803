# RUN: nereid compile %s:last --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit tile | FileCheck %s
# RUN: nereid compile %s:last --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix GPU
# RUN: nereid compile %s:last --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit cubin -o %t
# A tile that is read behind its loop is carried from a tile of zeros; that the loop ran is asked by the interpreter alone.
import triton
import triton.language as tl


# CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<128xf32>
# CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[NONE]]) -> (tensor<128xf32>)
# CHECK: tile.assert %{{.*}}, "`v` has no value: the loop that gives it one ran zero times" {tile.only_checked = "LoopOnly"}
# GPU: scf.for {{.*}} iter_args(
# GPU-NOT: tile.assert
# GPU: tile.store
@triton.jit
def last(x, y, n):
    i = tl.arange(0, 128)
    for row in range(n):
        v = tl.load(x + row * 128 + i)
    tl.store(y + i, v)
