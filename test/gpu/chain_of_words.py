# RUN: nereid compile %s:chain --signature "*fp32:16, *fp32:16" --num-warps 1 --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:chain --signature "*fp32:16, *fp32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# Products of one warp whose operands are sums: a sum of words is a left operand as it lies, of a product that is permuted along K, and a right one by shuffles.
import triton
import triton.language as tl


# CHECK: #[[SUM:layout[0-9]*]] = #tilegpu.layout<2, register = {{\[}}[0, 1], [8, 0], [0, 8]], lane = {{\[}}[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
# CHECK: %[[FIRST:[0-9]+]] = tile.dot {{.*}} -> tensor<16x16xf32, #[[SUM]]>
# CHECK: tilegpu.convert_layout %[[FIRST]]
# CHECK: tilegpu.convert_layout %[[FIRST]]
# CHECK-NOT: convert_layout
# CHECK: tile.dot {{.*}} tilegpu.neighbours = 2 : i32}
# One warp waits for its lanes only.
# PTX-NOT: bar.sync
# PTX: bar.warp.sync
# PTX-COUNT-4: mma.sync
# PTX-NOT: .shared
# PTX: shfl.sync
# PTX-NOT: .shared
# PTX-COUNT-4: mma.sync
# PTX-NOT: bar.sync
@triton.jit
def chain(x_ptr, out_ptr):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(x_ptr + at)
    square = tl.dot(x, x, input_precision="tf32")
    tl.store(out_ptr + at, tl.dot(square, square, input_precision="tf32"))
