# RUN: nereid compile %s:rounded --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --num-stages 3 --emit gpu | FileCheck %s
# RUN: nereid compile %s:rounded --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --num-stages 3 --emit ptx | FileCheck %s --check-prefix=PTX
# A left operand that is rounded on its way to `wgmma` is read from its slot in the product's fragments and rounded in registers; the right one, which has
# to lie in shared memory, is written there.
# CHECK: #[[FRAGMENTS:layout[0-9]*]] = #tilegpu.layout<2, register = {{\[\[}}0, 1], [8, 0], [0, 8], [0, 16]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
# CHECK: tilegpu.copy_async
# CHECK: %[[LEFT:.*]] = arith.truncf %{{.*}} to tensor<64x32xf16, #[[FRAGMENTS]]>
# CHECK: tile.dot %[[LEFT]],
# PTX: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}},
import triton
import triton.language as tl


@triton.jit
def rounded(a, b, c, depth):
    i, j, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, depth, 32):
        left = tl.load(a + i[:, None] * depth + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] * 64 + j[None, :])
        acc = tl.dot(left.to(tl.float16), right.to(tl.float16), acc)
    tl.store(c + i[:, None] * 64 + j[None, :], acc)
