# RUN: nereid compile %s:tiles --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, i32, i32" --target sm_90a --emit gpu --num-stages 4 | FileCheck %s
# RUN: nereid compile %s:tiles --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp32[64, 256]>, i32, i32" --target sm_90a --emit gpu --num-stages 4 | FileCheck %s --check-prefix=MANY
# RUN: env NEREID_STORES_BESIDE=0 nereid compile %s:tiles --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, i32, i32" --target sm_90a --emit gpu --num-stages 4 | FileCheck %s --check-prefix=MANY
# RUN: nereid compile %s:tells --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, i32, i32, *i32" --target sm_90a --emit gpu --num-stages 4 | FileCheck %s --check-prefix=MANY
# A tile's block leaves beside the first products of the next tile: threads keep it, and where it goes, until then.
import triton
import triton.language as tl


# CHECK: %[[TILES:.*]]:{{.*}} = scf.for %[[TILE:[^ ]*]] = %[[FIRST:[^ ]*]] to {{.*}} iter_args({{.*}}, %[[M:[^ ]*]] = %{{[^ ]*}}, %[[BLOCK:[^ ]*]] = %cst{{[^ ]*}}) ->
# CHECK: %[[LATER:.*]] = arith.cmpi ne, %[[TILE]], %[[FIRST]]
# CHECK: scf.for
# CHECK: tile.dot
# CHECK: tilegpu.copy_bulk
# CHECK: %[[NOW:.*]] = arith.andi %[[LATER]], %{{.*}}
# CHECK: scf.if %[[NOW]] {
# CHECK-NEXT: tile.desc_store %{{.*}}[%[[M]], %{{.*}}], %[[BLOCK]]
# CHECK: tilegpu.wait_products
# CHECK-NOT: tile.desc_store
# CHECK: tile.stores_beside
# CHECK: scf.if
# CHECK: tile.desc_store
# MANY: tile.desc_store
# MANY-NOT: tile.stores_beside
@triton.jit
def tiles(a, b, c, count, K):
    for tile in tl.range(tl.program_id(0), count, tl.num_programs(0), flatten=True):
        acc = tl.zeros(c.block_shape, tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 64, k]), b.load([k, 0]), acc)
        c.store([tile * 64, 0], acc.to(c.dtype))


# Whoever waits for the tile reads it.
@triton.jit
def tells(a, b, c, count, K, flags):
    for tile in tl.range(tl.program_id(0), count, tl.num_programs(0), flatten=True):
        acc = tl.zeros(c.block_shape, tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 64, k]), b.load([k, 0]), acc)
        c.store([tile * 64, 0], acc.to(c.dtype))
        tl.atomic_xchg(flags + tile, 1)
