# RUN: nereid compile %s:once --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90a --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix ONCE
# RUN: nereid compile %s:once --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90 --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %s:once --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_80 --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %s:again --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32" --target sm_90a --emit ptx --num-stages 3 --num-warps 4 | FileCheck %s --check-prefix AGAIN
# RUN: nereid compile %s:each_step --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu --num-stages 3 --num-warps 4 | FileCheck %s --check-prefix STEP
# RUN: nereid compile %s:odd --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu --num-stages 3 --num-warps 4 | FileCheck %s --check-prefix ODD
# RUN: nereid compile %s:reads --signature "*fp16:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix READS
# RUN: nereid compile %s:once --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90a --emit obj -o %t.o --on once && FileCheck %s --check-prefix ALONE < %t.h
# Descriptors that the kernel makes: it writes their tensor maps to its scratch memory, and goes on as with those of parameters.
import triton
import triton.language as tl


# One warp writes each map: cleared, filled in field by field, copied to global memory, seen by the copy engine from there on.
# ONCE-COUNT-3: tensormap.replace.tile.global_address.shared::cta.b1024.b64
# ONCE: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
# ONCE-NOT: cp.async.cg
# ONCE: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group

# Chips without the copy engine, and code that is to run on later ones too (which lacks the instructions).
# AMPERE-NOT: tensormap
# AMPERE: cp.async.cg.shared.global

# What is linked without a runtime has no scratch memory.
# ALONE: once
@triton.jit
def once(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [128, 64])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [64, 128])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [128, 128])
    m = tl.program_id(0) * 128
    n = tl.program_id(1) * 128
    acc = tl.zeros([128, 128], dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
    c.store([m, n], acc.to(tl.float16))


# Made again for each matrix: fields of the first map, in the order of the hardware.
# The store's tile is read before the next map is written there.
# AGAIN: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group
# AGAIN: cp.async.bulk.wait_group.read 0;
# AGAIN: bar.sync
# AGAIN: st.shared.b32 {{.*}}, 0; bar.warp.sync
# AGAIN: tensormap.replace.tile.global_address.shared::cta.b1024.b64
# AGAIN-SAME: tensormap.replace.tile.rank.shared::cta.b1024.b32 {{[^;]*}}, 1;
# AGAIN-SAME: tensormap.replace.tile.box_dim.shared::cta.b1024.b32 {{[^;]*}}, 0, 64;
# AGAIN-SAME: tensormap.replace.tile.global_dim.shared::cta.b1024.b32 {{[^;]*}}, 0, %r
# AGAIN-SAME: tensormap.replace.tile.global_stride.shared::cta.b1024.b64 {{[^;]*}}, 0, %rd
# AGAIN-SAME: tensormap.replace.tile.box_dim.shared::cta.b1024.b32 {{[^;]*}}, 1, 64;
# AGAIN-SAME: tensormap.replace.tile.elemtype.shared::cta.b1024.b32 {{[^;]*}}, 1;
# AGAIN-SAME: tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 {{[^;]*}}, 3;
# AGAIN: bar.warp.sync
# AGAIN-SAME: tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
# AGAIN-SAME: fence.proxy.tensormap::generic.acquire.gpu
# AGAIN: cp.async.bulk.tensor.2d.shared::cluster.global
@triton.jit
def again(a_ptr, b_ptr, c_ptr, K, G):
    for g in range(G):
        a = tl.make_tensor_descriptor(a_ptr + g * 64 * K, [64, K], [K, 1], [64, 64])
        b = tl.make_tensor_descriptor(b_ptr + g * 64 * K, [K, 64], [64, 1], [64, 64])
        c = tl.make_tensor_descriptor(c_ptr + g * 64 * 64, [64, 64], [64, 1], [64, 64])
        acc = tl.zeros([64, 64], dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
        c.store([0, 0], acc.to(tl.float16))


# A map of the loop's own would be written again while copies use it.
# STEP-NOT: copy_bulk
# STEP-COUNT-2: tilegpu.copy_desc
@triton.jit
def each_step(a_ptr, b_ptr, c_ptr, K):
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for k in range(0, K, 64):
        a = tl.make_tensor_descriptor(a_ptr + k, [64, 64], [K, 1], [64, 64])
        b = tl.make_tensor_descriptor(b_ptr + k * 64, [64, 64], [64, 1], [64, 64])
        acc = tl.dot(a.load([0, 0]), b.load([0, 0]), acc)
    c = tl.make_tensor_descriptor(c_ptr, [64, 64], [64, 1], [64, 64])
    c.store([0, 0], acc.to(tl.float16))


# Rows of 68 halves do not start at multiples of 16 bytes.
# ODD: tilegpu.copy_bulk
# ODD: tilegpu.copy_desc
@triton.jit
def odd(a_ptr, b_ptr, c_ptr, K):
    a = tl.make_tensor_descriptor(a_ptr, [64, K], [K, 1], [64, 64])
    b = tl.make_tensor_descriptor(b_ptr, [K, 64], [68, 1], [64, 64])
    c = tl.make_tensor_descriptor(c_ptr, [64, 64], [64, 1], [64, 64])
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    c.store([0, 0], acc.to(tl.float16))


# Two descriptors of one tensor: what one stores is in memory before the other reads it.
# READS: tile.desc_store {{.*}}tilegpu.bulk_store = true
@triton.jit
def reads(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [64, 64])
    y = tl.make_tensor_descriptor(x_ptr, [32, 128], [128, 1], [32, 128])
    x.store([0, 0], tl.full([64, 64], 1.0, tl.float16))
    tl.store(x_ptr + tl.arange(0, 128), tl.sum(y.load([0, 0]), 0))
