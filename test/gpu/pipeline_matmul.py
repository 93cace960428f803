# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit gpu --num-stages 3 | FileCheck %s
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=PTX
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_80 --emit gpu --num-stages 3 | FileCheck %s --check-prefix=SM80
# RUN: nereid compile %s:large --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix=LARGE
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit gpu --num-stages 1 | FileCheck %s --check-prefix=ONE
# Products stay in flight into the next step. At a step's end all threads wait for the next step's copies, so the
# products of the step before are done in all of them: copies take their slot. As they start only then, there is a slot
# more than was asked for where few copies are under way (test/gpu/pipeline_loads.mlir); nine programs of 8 KiB a step are enough.
import triton
import triton.language as tl


# CHECK: %[[A:.*]] = tilegpu.ring : <3, tensor<64x32xf16
# CHECK: %[[B:.*]] = tilegpu.ring : <3, tensor<32x64xf16
# CHECK-COUNT-2: tilegpu.commit_copies
# CHECK: tilegpu.wait_copies 1
# CHECK: scf.for
# CHECK-NOT: tile.load
# CHECK: %[[TA:.*]] = tilegpu.read_slot %[[A]]
# CHECK: %[[TB:.*]] = tilegpu.read_slot %[[B]]
# CHECK: tile.dot %[[TA]], %[[TB]], {{.*}}tilegpu.pending = 1
# CHECK-NEXT: tilegpu.wait_copies 0
# CHECK: tilegpu.copy_async %[[A]]{{.*}} mask {{.*}} vector 8
# CHECK: tilegpu.copy_async %[[B]]{{.*}} mask {{.*}} vector 8
# CHECK: tilegpu.commit_copies
# CHECK: scf.yield
# CHECK: tilegpu.wait_products
# CHECK-NEXT: scf.yield
# CHECK-NEXT: } else {
# CHECK: tilegpu.drain %[[A]], %[[B]]

# Two pieces of 16 bytes a thread of each operand and step.
# PTX-COUNT-8: cp.async.cg.shared.global
# PTX: cp.async.wait_group 1;
# PTX: L__BB0_2:
# PTX: wgmma.wait_group.sync.aligned 1;
# PTX: cp.async.wait_group 0;
# PTX-NOT: fence.proxy.async
# PTX: bar.sync
# PTX-COUNT-4: cp.async.cg.shared.global
# PTX: cp.async.commit_group
# PTX-NOT: bar.sync
# PTX: bra $L__BB0_2
# PTX: wgmma.wait_group.sync.aligned 0;
# PTX: cp.async.wait_group 0;

# mma.sync is done when it is done: copies start behind the barrier, before the product.
# SM80: tilegpu.ring : <3, tensor<64x32xf16
# SM80: scf.for
# SM80-NEXT: tilegpu.wait_copies 1
# SM80: tilegpu.copy_async
# SM80: tile.dot
# SM80-NOT: tilegpu.pending
# SM80-NOT: tilegpu.wait_products

# ONE-NOT: tilegpu.ring
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K):
    m = tl.arange(0, 64)
    k = tl.arange(0, 32)
    a = a_ptr + m[:, None] * K + k[None, :]
    b = b_ptr + k[:, None] * 64 + m[None, :]
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, K, 32):
        left = K - start
        acc = tl.dot(tl.load(a, mask=k[None, :] < left, other=0.0), tl.load(b, mask=k[:, None] < left, other=0.0), acc)
        a += 32
        b += 32 * 64
    tl.store(c_ptr + m[:, None] * 64 + m[None, :], acc)


# A step keeps the tensor cores busy for long: copies start behind a barrier of their own, before the wait.
# LARGE: tilegpu.ring : <3, tensor<128x64xf16
# LARGE: scf.for
# LARGE-NEXT: tilegpu.wait_copies 1
# LARGE: tile.dot {{.*}}tilegpu.pending = 1
# LARGE-NEXT: tilegpu.meet
# LARGE: tilegpu.copy_async
# LARGE: scf.yield
@triton.jit
def large(a_ptr, b_ptr, c_ptr, K):
    m = tl.arange(0, 128)
    n = tl.arange(0, 256)
    k = tl.arange(0, 64)
    a = a_ptr + m[:, None] * K + k[None, :]
    b = b_ptr + k[:, None] * 256 + n[None, :]
    acc = tl.zeros([128, 256], dtype=tl.float32)
    for start in range(0, K, 64):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += 64
        b += 64 * 256
    tl.store(c_ptr + m[:, None] * 256 + n[None, :], acc)
