# RUN: nereid compile %s:gate --signature "tensordesc<bf16[1, 64, 64]>, tensordesc<bf16[64, 128]>, tensordesc<bf16[1, 64, 128]>, tensordesc<bf16[1, 64, 128]>, tensordesc<bf16[1, 64, 128]>, i32:16" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:gate --signature "tensordesc<bf16[1, 64, 64]>, tensordesc<bf16[64, 128]>, tensordesc<bf16[1, 64, 128]>, tensordesc<bf16[1, 64, 128]>, tensordesc<bf16[1, 64, 128]>, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:gate --signature "tensordesc<bf16[1, 64, 64]>, tensordesc<bf16[64, 128]>, tensordesc<bf16[1, 64, 128]>, tensordesc<bf16[1, 64, 128]>, tensordesc<bf16[1, 64, 128]>, i32:16" --target sm_80 --emit gpu | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %s:unpacked --signature "*fp16:16, *i32:16, *i32:16, *fp16:16, i32:16, i32:16" --num-stages 3 --target sm_90a --emit gpu | FileCheck %s --check-prefix VECTORS
# What the end of a program loads of descriptors comes by the copy engine, and is read where sums lie; what is computed of slots moves nowhere either.
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: tilegpu.drain
# CHECK: tilegpu.expect_bulk {{.*}} bytes 32768
# CHECK-NEXT: tilegpu.copy_bulk {{.*}}<1x64x128xbf16>
# CHECK-NEXT: tilegpu.copy_bulk {{.*}}<1x64x128xbf16>
# CHECK-NEXT: tilegpu.wait_bulk
# CHECK-NOT: {{tile.desc_load|convert_layout}}
# CHECK: tile.desc_store {{.*}}tilegpu.bulk_store{{.*}} <1x64x128xbf16>, tensor<64x128xbf16

# PTX-NOT: ld.global
# PTX: ldmatrix
# PTX: cp.async.bulk.tensor.3d.global.shared::cta.bulk_group
# PTX-NOT: st.global

# AMPERE: tile.desc_load {{.*}}<1x64x128xbf16>
# AMPERE: tile.desc_load {{.*}}<1x64x128xbf16>
@triton.jit
def gate(a, w, g, u, out, K):
    m = tl.program_id(0) * 64
    acc = tl.zeros([64, 128], dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([0, m, k]).reshape([64, 64]), w.load([k, 0]), acc)
    left = g.load([0, m, 0]).reshape([64, 128]).to(tl.float32)
    right = u.load([0, m, 0]).reshape([64, 128]).to(tl.float32)
    out.store([0, m, 0], (acc * left * tl.sigmoid(right)).reshape([1, 64, 128]).to(tl.bfloat16))


# A product reads its operand where it lies: that stays until it has.
# RUN: nereid compile %s:operand --signature "tensordesc<bf16[64, 64]>, tensordesc<bf16[64, 64]>, tensordesc<bf16[64, 64]>, tensordesc<bf16[64, 64]>, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix OPERAND
# OPERAND: tilegpu.drain
# OPERAND-NOT: tilegpu.copy_bulk
# OPERAND: tile.dot
@triton.jit
def operand(a, w, v, out, K):
    m = tl.program_id(0) * 64
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([m, k]), w.load([k, 0]), acc)
    out.store([m, 0], tl.dot(acc.to(tl.bfloat16), v.load([0, 0]).T).to(tl.bfloat16))


# Zero points are unpacked where the weights lie that they meet.
# VECTORS: scf.for
# VECTORS-NOT: convert_layout
# VECTORS: tile.dot
# VECTORS: scf.yield
@triton.jit
def unpacked(a_ptr, b_ptr, zero_ptr, out_ptr, K, N):
    i, j, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 32)
    acc = tl.zeros([64, 128], dtype=tl.float32)
    for step in range(0, K // 32):
        a = tl.load(a_ptr + i[:, None] * K + step * 32 + k[None, :])
        b = tl.load(b_ptr + (step * 4 + k[:, None] // 8) * N + j[None, :])
        zero = (tl.load(zero_ptr + step * (N // 8) + j // 8) >> (j % 8) * 4) & 15
        b = ((b >> (k % 8)[:, None] * 4) & 15).to(tl.float16) - zero.to(tl.float16)[None, :]
        acc = tl.dot(a, b, acc)
    tl.store(out_ptr + i[:, None] * 128 + j[None, :], acc.to(tl.float16))
