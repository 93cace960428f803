# RUN: nereid compile %s:scaled --signature "*fp16:16, *i8:16, *fp16:16, *fp32:16, i32:16, 256" --num-warps 8 --num-stages 4 --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:scaled --signature "*fp16:16, *i8:16, *fp16:16, *fp32:16, i32:16, 256" --num-warps 8 --num-stages 4 --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:scaled --signature "*fp16:16, *i8:16, *fp16:16, *fp32:16, i32:16, 128" --num-warps 8 --num-stages 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix MANY
# RUN: nereid inspect %s:widened --signature "*fp16:16, *i8:16, *fp32:16, i32:16" --num-warps 8 --num-stages 3 --target sm_90a | FileCheck %s --check-prefix BANKS
# RUN: nereid compile %s:scaled --signature "*fp16:16, *i8:16, *fp16:16, *fp32:16, i32:16, 256" --num-warps 8 --num-stages 4 --target sm_90a --emit ptx | %ptxas -arch=sm_90a -o /dev/null -
# Where steps compute the right operand of their only product, two places take it in turn: the product of a step runs while the next one computes.
# REQUIRES: ptxas
import triton
import triton.language as tl


# Scales wait in a ring, too; one barrier is the write's, one that of the wait for copies.
# CHECK: [[WRITTEN:%.*]] = tilegpu.ring : <2, tensor<64x256xf16
# CHECK: scf.for
# CHECK-NOT: tilegpu.wait
# CHECK: tilegpu.write_slot [[WRITTEN]][[[PLACE:%.*]]]
# CHECK-NEXT: [[RIGHT:%.*]] = tilegpu.read_slot [[WRITTEN]][[[PLACE]]]
# CHECK-NOT: tilegpu.wait
# CHECK: tile.dot {{.*}} [[RIGHT]], {{.*}}tilegpu.pending = 1
# CHECK-NEXT: tilegpu.wait_copies
# CHECK: arith.xori [[PLACE]], %c1
# CHECK: }
# CHECK: tilegpu.wait_products
# PTX: fence.proxy.async
# PTX: bar{{.*}}sync
# PTX: wgmma.wait_group.sync.aligned 1;
# Two programs cover for each other: one place.
# MANY-NOT: write_slot
@triton.jit
def scaled(x, w, scale, out, K, N: tl.constexpr):
    i, j, k = tl.arange(0, 128), tl.arange(0, N), tl.arange(0, 64)
    total = tl.zeros([128, N], dtype=tl.float32)
    for t in range(0, K, 64):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        right = tl.load(w + (t + k)[:, None] * N + j[None, :])
        row = tl.load(scale + t // 64 * N + j)
        total = tl.dot(left, right.to(tl.float16) * row[None, :], total)
    tl.store(out + i[:, None] * N + j[None, :], total)


# Bytes are read eight at once and written as sixteen.
# BANKS: store {{ *}}16 {{ *}}8 {{.*}}1-way
@triton.jit
def widened(x, w, out, K):
    i, j, k = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 64)
    total = tl.zeros([128, 256], dtype=tl.float32)
    for t in range(0, K, 64):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        right = tl.load(w + j[:, None] * K + t + k[None, :])
        total += tl.dot(left, tl.trans(right.to(tl.float16)))
    tl.store(out + i[:, None] * 256 + j[None, :], total)
