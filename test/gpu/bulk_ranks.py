# RUN: nereid compile %s:attention --signature "tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, 128, 128]>, i32, i32, 128" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# RUN: nereid compile %s:attention --signature "tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, 128, 128]>, i32, i32, 128" --target sm_90a --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:batched --signature "tensordesc<fp16[1, 64, 64]>, tensordesc<fp16[1, 64, 64]>, tensordesc<fp32[1, 64, 64]>, i32" --target sm_80 --emit ptx | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %s:batched --signature "tensordesc<fp16[1, 64, 64]>, tensordesc<fp16[1, 64, 64]>, tensordesc<fp32[1, 64, 64]>, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix BATCHED
# The copy engine moves matrices of descriptors of up to five dimensions, and one loop masks some of its steps.
import triton
import triton.language as tl


# CHECK-NOT: tile.desc_load
# CHECK: tilegpu.copy_bulk {{.*}}<1x1x128x128xf16>
# One warp starts the first steps' copies too.
# CHECK: tilegpu.is_copying_warp
# CHECK: scf.if
# CHECK-NEXT: %{{.*}} = arith.constant true
# CHECK-NEXT: tilegpu.expect_bulk
# CHECK: scf.for
# CHECK: tile.dot
# A step that masks nothing keeps its scores where they are.
# CHECK: scf.if
# CHECK-NOT: convert_layout
# CHECK: } else {
# CHECK-NEXT: scf.yield
# CHECK: tile.reduce
# CHECK: tilegpu.drain
# CHECK: tile.desc_store {{.*}}tilegpu.bulk_store = false{{.*}} <1x1x128x128xf16>, tensor<128x128xf16

# PTX: mbarrier.init.shared::cta.b64
# PTX: cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes
# PTX-NOT: ld.global
# PTX: cp.async.bulk.tensor.4d.global.shared::cta.bulk_group
@triton.jit
def attention(q_desc, k_desc, v_desc, out_desc, N, SEEN, D: tl.constexpr):
    b = tl.program_id(1)
    h = tl.program_id(2)
    q = q_desc.load([b, h, tl.program_id(0) * 128, 0]).reshape([128, D])
    acc = tl.zeros([128, D], dtype=tl.float32)
    m = tl.full([128], -1e30, dtype=tl.float32)
    for start in range(0, N, D):
        s = tl.dot(q, k_desc.load([b, h, start, 0]).reshape([D, D]).T)
        if start >= SEEN:
            s = tl.where(start + tl.arange(0, D)[None, :] < tl.arange(0, 128)[:, None], s, -1e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        acc = acc * tl.exp2(m - new)[:, None]
        acc = tl.dot(p.to(tl.float16), v_desc.load([b, h, start, 0]).reshape([D, D]), acc)
        m = new
    out_desc.store([b, h, tl.program_id(0) * 128, 0], acc.to(tl.float16)[None, None, :, :])


# BATCHED: cp.async.bulk.tensor.3d.shared::cluster.global
# BATCHED: wgmma.mma_async
# BATCHED: cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group

# AMPERE: cp.async.cg.shared.global
# AMPERE: mma.sync
@triton.jit
def batched(a_desc, b_desc, c_desc, K):
    z = tl.program_id(0)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a_desc.load([z, 0, k]).reshape([64, 64]), b_desc.load([z, k, 0]).reshape([64, 64]), acc)
    c_desc.atomic_add([z, 0, 0], acc.reshape([1, 64, 64]))
