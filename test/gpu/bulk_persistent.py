# RUN: nereid compile %s:matmul --signature "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp16[128, 256]>, i32, i32, i32, True" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# RUN: nereid compile %s:matmul --signature "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp16[128, 256]>, i32, i32, i32, True" --target sm_90a --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:matmul --signature "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp16[128, 256]>, i32, i32, i32, False" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix APART
# RUN: nereid compile %s:carried --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, i32, i32" --target sm_90a --emit gpu --num-stages 3 --num-warps 4 | FileCheck %s --check-prefix CARRIED
# RUN: nereid compile %s:after --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, i32, i32" --target sm_90a --emit gpu --num-stages 3 --num-warps 4 | FileCheck %s --check-prefix AFTER
# A loop over tiles that may be flattened: copies go on into the next tile's steps.
import triton
import triton.language as tl


# The first copies of all; then where they stand (whether there is a step, tile, place, step) goes through both loops
# with slot and phase. A tile's end has no copies, and where it is stored is computed in its first step.
# CHECK: scf.if
# CHECK: tilegpu.arrivals : <3>
# CHECK: %[[FIRST:.*]]:5 = scf.for
# CHECK-COUNT-2: tilegpu.copy_bulk
# CHECK: %[[TILES:.*]]:7 = scf.for {{.*}} iter_args(%[[EXISTS:[^ ]*]] = %[[FIRST]]#0, {{.*}} -> (i1, i64, i32, i32, i32, i32, i32)
# CHECK-NOT: tile.divsi
# CHECK: %[[UNSET:.*]] = tilegpu.unset
# CHECK: %[[STEPS:.*]]:10 = scf.for %[[STEP:[^ ]*]] = {{.*}} iter_args(%[[SUM:[^ ]*]] = %[[UNSET]], %{{[^ ]*}} = %[[EXISTS]],
# CHECK: tilegpu.wait_bulk
# CHECK: %[[ISFIRST:.*]] = arith.cmpi eq, %[[STEP]], %c0_i32
# CHECK: %[[ACC:.*]] = arith.select %[[ISFIRST]], %cst, %[[SUM]]
# CHECK: tile.dot {{.*}}, %[[ACC]] {
# CHECK: tilegpu.is_copying_warp
# CHECK: tilegpu.acquire_slot
# CHECK-COUNT-2: tilegpu.copy_bulk
# CHECK: tile.divsi
# CHECK: %[[ISFIRST2:.*]] = arith.cmpi eq, %[[STEP]], %c0_i32
# CHECK: scf.if %[[ISFIRST2]]
# CHECK: tile.divsi
# CHECK: %[[DONE:.*]] = tilegpu.wait_products %[[STEPS]]#0
# CHECK-NEXT: %[[RESULT:.*]] = arith.truncf %[[DONE]]
# CHECK-NEXT: tile.desc_store %{{.*}}[%[[STEPS]]#8, %[[STEPS]]#9], %[[RESULT]]
# CHECK-NEXT: scf.yield %[[STEPS]]#1, %[[STEPS]]#2
# CHECK: tilegpu.drain
# Tiles without a step are their first sums.
# CHECK: else
# CHECK: scf.for
# CHECK-NOT: tile.dot
# CHECK: tile.desc_store

# The store is waited for where the next one writes its tile to shared memory, and at the end.
# PTX: wgmma.wait_group.sync.aligned 0;
# PTX: cp.async.bulk.wait_group.read 0;
# PTX-NEXT: {{end|bar}}
# PTX: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group
# PTX: not.pred first
# PTX: mbarrier.inval
# PTX: cp.async.bulk.wait_group.read 0;
# PTX: ret;

# Without the source's word the next tile may read what this one writes.
# APART: scf.for
# APART: tilegpu.arrivals
# APART: tilegpu.drain
# APART: tile.desc_store
@triton.jit
def matmul(a_desc, b_desc, c_desc, M, N, K, FLATTEN: tl.constexpr):
    columns = tl.cdiv(N, 256)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, 128) * columns, tl.num_programs(0), flatten=FLATTEN):
        m = tile // columns * 128
        n = tile % columns * 256
        acc = tl.zeros([128, 256], dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
        c_desc.store([m, n], acc.to(tl.float16))


# A place that goes from tile to tile: the next tile's is computed for its copies.
# CARRIED: %[[FIRST:.*]]:4 = scf.for {{.*}} iter_args(%{{.*}} = {{.*}}, %{{.*}} = %c0_i32, %[[PLACE:.*]] = %c0_i32, %{{.*}} = %c0_i32)
# CARRIED: tilegpu.copy_bulk {{.*}}[%[[PLACE]], %
# CARRIED: else
# CARRIED: %[[NEXT:.*]] = arith.addi %[[PLACE]], %c64_i32
# CARRIED: scf.yield %{{.*}}, %{{.*}}, %[[NEXT]], %c0_i32
@triton.jit
def carried(a_desc, b_desc, c_desc, T, K):
    m = 0
    for tile in tl.range(T, flatten=True):
        acc = tl.zeros([64, 64], dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, 0]), acc)
        c_desc.store([m, 0], acc.to(tl.float16))
        m += 64


# Where the next tile lies is only known when this one is done.
# AFTER: scf.for
# AFTER: tilegpu.arrivals
# AFTER: tilegpu.drain
# AFTER: tile.desc_store
@triton.jit
def after(a_desc, b_desc, c_desc, T, K):
    m = 0
    for tile in tl.range(T, flatten=True):
        acc = tl.zeros([64, 64], dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, 0]), acc)
        c_desc.store([m, 0], acc.to(tl.float16))
        m += tl.max(acc).to(tl.int32)
