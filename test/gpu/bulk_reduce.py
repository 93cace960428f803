# DEFINE: %{gradients} = %S/Inputs/gradients.py:gradients --signature "tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, tensordesc<fp32[64, 128]>, tensordesc<fp32[1, 64]>, tensordesc<fp16[128, 128]>, tensordesc<fp16[128, 128]>, i32:16, 128, 128"
# RUN: nereid compile %{gradients} --target sm_90a --emit gpu --num-stages 2 --num-warps 8 | FileCheck %s
# RUN: nereid compile %{gradients} --target sm_90a --emit ptx --num-stages 2 --num-warps 8 | FileCheck %s --check-prefix PTX
# RUN: nereid compile %{gradients} --target sm_80 --emit ptx --num-stages 2 --num-warps 8 | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %{gradients} --target sm_90a --emit ptx --num-stages 2 --num-warps 8 | %ptxas -arch=sm_90a -v -o /dev/null - 2>&1 | FileCheck %s --check-prefix PTXAS
# RUN: nereid compile %s:itself --signature "*fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix ITSELF
# RUN: nereid compile %s:pointers --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix POINTERS
# RUN: nereid compile %s:kinds --signature "tensordesc<i32[64, 64]>, tensordesc<u32[64, 64]>, tensordesc<bf16[64, 64]>, tensordesc<fp16[64, 64]>" --target sm_90a --emit ptx | FileCheck %s --check-prefix KINDS
# RUN: nereid compile %s:made --signature "*fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix MADE
# RUN: nereid compile %s:both --signature "*i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix BOTH
# The copy engine adds a block to memory, and blocks of other tensors come ahead of that.
# REQUIRES: ptxas
import triton
import triton.language as tl


# A step of attention's gradients. Copies run ahead though each step adds to a tensor. The second product begins behind the first,
# exponentials run beside it, and the sums that only the next step wants are waited for with the last product.
# CHECK: scf.for
# CHECK: tilegpu.copy_bulk
# CHECK: %[[S:.*]] = tile.dot {{.*}}tilegpu.pending = 1
# CHECK-NOT: math.exp2
# CHECK: %[[DP:.*]] = tile.dot {{.*}}tilegpu.pending = 2
# CHECK: tilegpu.wait_products %[[S]] pending 1
# CHECK: math.exp2
# CHECK: tile.dot {{.*}}tilegpu.pending = 2
# CHECK: tilegpu.wait_products %[[DP]] pending 1
# CHECK: tile.dot {{.*}}tilegpu.pending = 2
# CHECK-NOT: tilegpu.wait_products
# CHECK: tile.dot {{.*}} {tilegpu.instruction = "wgmma"} :
# CHECK-NEXT: tile.desc_reduce <fadd>{{.*}}tilegpu.bulk_store = false
# CHECK: scf.yield

# What a step writes to shared memory for a while, dS and the block to be added, has an area each: one barrier for each write.
# PTX: wgmma.mma_async.sync.aligned.m64n128k16
# PTX: cp.async.bulk.wait_group.read 0;
# PTX: bar.sync 0;
# PTX: wgmma.wait_group.sync.aligned 0;
# PTX-NOT: bar.sync
# PTX: fence.proxy.async.shared::cta;
# PTX: bar.sync 0;
# PTX-COUNT-4: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
# PTX-NOT: cp.async.bulk.wait_group 0;
# PTX: ret;

# AMPERE: red.relaxed.gpu.global.add.f32
# AMPERE-NOT: cp.reduce

# PTXAS-NOT: wgmma.mma_async instructions are serialized
# PTXAS: 0 bytes spill stores


# What is read and added to is one tensor: nothing goes ahead, and the data is there before it is read.
# ITSELF-NOT: tilegpu.copy
# ITSELF: tile.desc_reduce {{.*}}tilegpu.bulk_store = true
@triton.jit
def itself(x_ptr, N):
    x = tl.make_tensor_descriptor(x_ptr, [N, 64], [64, 1], [64, 64])
    for start in range(0, N, 64):
        block = x.load([start, 0])
        x.atomic_add([0, 0], tl.dot(block, block))


# Atomics by pointers, whose results nobody wants, let copies of other tensors ahead too.
# POINTERS: scf.for
# POINTERS: tilegpu.copy_async
# POINTERS: tile.atomic_rmw
# POINTERS: scf.yield
@triton.jit
def pointers(a_ptr, b_ptr, c_ptr, N):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    for start in range(0, N, 64):
        a = tl.load(a_ptr + start * 64 + at)
        b = tl.load(b_ptr + start * 64 + at)
        tl.atomic_add(c_ptr + start * 64 + at, tl.dot(a, b))


# KINDS: cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile
# KINDS: cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile
# KINDS: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile
# No instruction compares halves as `max` of two numbers does.
# KINDS-NOT: cp.reduce
@triton.jit
def kinds(a, b, c, d):
    a.atomic_max([0, 0], tl.full([64, 64], 1, tl.int32))
    b.atomic_xor([0, 0], tl.full([64, 64], 1, tl.uint32))
    c.atomic_add([0, 0], tl.full([64, 64], 1, tl.bfloat16))
    d.atomic_max([0, 0], tl.full([64, 64], 1, tl.float16))


# A map that the kernel makes for a sum of f32 says so.
# MADE: tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [{{[^]]*}}], 7;
# MADE: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile
@triton.jit
def made(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [64, 64])
    x.atomic_add([0, 0], tl.full([64, 64], 1.0, tl.float32))


# Extremes with a sign and sums of one descriptor, in either order: the map's type has the sign.
# BOTH: tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [{{[^]]*}}], 3;
# BOTH: cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile
# BOTH: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile
@triton.jit
def both(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [64, 64])
    x.atomic_max([0, 0], tl.full([64, 64], -1, tl.int32))
    x.atomic_add([0, 0], tl.full([64, 64], 1, tl.int32))
