# RUN: nereid compile %s:matmul --signature "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp16[128, 256]>, i32" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# RUN: nereid compile %s:matmul --signature "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp16[128, 256]>, i32" --target sm_90a --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:matmul --signature "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp16[128, 256]>, i32" --target sm_80 --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix AMPERE
# Blocks of descriptor parameters go through the copy engine: one mbarrier a slot says when they have arrived, and
# another keeps the copies behind the products of all warps.
import triton
import triton.language as tl


# CHECK: %[[ARRIVALS:.*]] = tilegpu.arrivals : <3>
# CHECK: tilegpu.expect_bulk %[[ARRIVALS]]{{.*}} bytes 49152
# CHECK: tilegpu.copy_bulk
# CHECK: tilegpu.copy_bulk
# CHECK: scf.for
# CHECK-NEXT: tilegpu.wait_bulk %[[ARRIVALS]]
# CHECK-NOT: tile.barrier
# CHECK: tile.dot {{.*}}tilegpu.pending = 1
# One warp waits until the others are done with the slot, and starts its next copies.
# CHECK: tilegpu.free_slot %[[ARRIVALS]]
# CHECK: tilegpu.is_copying_warp
# CHECK: scf.if
# CHECK: tilegpu.acquire_slot %[[ARRIVALS]]
# CHECK: tilegpu.copy_bulk
# CHECK: scf.yield
# CHECK: tile.desc_store {{.*}}tilegpu.bulk_store = false

# The maps lie behind the plain fields and the context.
# PTX: .param .align 64 .b8 {{.*}}[128]
# PTX-NOT: .local
# PTX: prefetch.tensormap
# PTX: mbarrier.init.shared::cta.b64
# PTX: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
# PTX: mbarrier.try_wait.parity.shared::cta.b64
# PTX: wgmma.mma_async
# PTX: mbarrier.arrive.shared::cta.b64
# PTX-NOT: st.global
# PTX: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group
# PTX: cp.async.bulk.wait_group.read 0;

# AMPERE-NOT: cp.async.bulk
# AMPERE: cp.async.cg.shared.global
# AMPERE: st.global.v4.b32
@triton.jit
def matmul(a_desc, b_desc, c_desc, K):
    m = tl.program_id(0) * 128
    n = tl.program_id(1) * 256
    acc = tl.zeros([128, 256], dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc.to(tl.float16))
