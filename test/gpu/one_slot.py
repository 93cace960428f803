# DEFINE: %{gradients} = %S/Inputs/gradients.py:gradients --signature "tensordesc<fp16[64, 256]>, tensordesc<fp16[64, 256]>, tensordesc<fp32[64, 256]>, tensordesc<fp32[1, 64]>, tensordesc<fp16[64, 256]>, tensordesc<fp16[64, 256]>, i32:16, 64, 256"
# RUN: nereid compile %{gradients} --target sm_90a --emit ptx --num-stages 2 --num-warps 8 | FileCheck %s
# RUN: nereid compile %{gradients} --target sm_90a --emit ptx --num-stages 2 --num-warps 8 | %ptxas -arch=sm_90a -v -o /dev/null - 2>&1 | FileCheck %s --check-prefix PTXAS
# RUN: nereid compile %s:along_n --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp32[64, 64]>, i32:16" --target sm_90a --emit gpu --num-warps 8 | FileCheck %s --check-prefix ALONG-N
# REQUIRES: ptxas
# Two slots for each copy have no room: one is filled again as soon as its last reader in the step is done.
import triton
import triton.language as tl


# Attention's gradients with rows of 256. Each warp group has 32 columns of the scores: rows of what lies along K. Both groups take
# probabilities and dS from shared memory; dS is written once for two products.
# The code of a step begins with its end.
# CHECK: wgmma.wait_group.sync.aligned 0;
# CHECK: bar.sync 0;
# CHECK: cp.reduce.async.bulk.tensor.2d
# The first product waits for the queries alone.
# CHECK: mbarrier.try_wait.parity
# CHECK: wgmma.mma_async.sync.aligned.m64n32k16
# CHECK: mbarrier.try_wait.parity
# CHECK: wgmma.mma_async.sync.aligned.m64n32k16
# CHECK: stmatrix
# CHECK: bar.sync 0;
# CHECK-NEXT: begin inline asm
# CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n128k16
# CHECK: stmatrix
# CHECK: bar.sync 0;
# CHECK: wgmma.mma_async.sync.aligned.m64n128k16
# The product of dV is done, and the next step's dO may come, beside that of dK; and the queries when that is done.
# CHECK: wgmma.wait_group.sync.aligned 1; bar.warp.sync 0xffffffff; {{.*}}mbarrier.arrive
# CHECK: mbarrier.try_wait.parity
# CHECK-COUNT-4: cp.async.bulk.tensor.2d.shared::cluster
# CHECK-NOT: stmatrix
# CHECK: wgmma.mma_async.sync.aligned.m64n128k16
# CHECK: wgmma.wait_group.sync.aligned 1; bar.warp.sync 0xffffffff; {{.*}}mbarrier.arrive
# CHECK: cp.async.bulk.tensor.2d.shared::cluster
# CHECK: cp.async.wait_group 0;

# PTXAS-NOT: wgmma.mma_async instructions are serialized
# PTXAS: 0 bytes spill stores


# A right operand that lies along N is no rows there: less than 64 columns a warp group would be part of a swizzled line.
# ALONG-N-NOT: "wgmma"
# ALONG-N: "mma"
@triton.jit
def along_n(a_desc, b_desc, c_desc, K):
    c = tl.zeros([64, 64], dtype=tl.float32)
    for k in range(0, K, 64):
        c = tl.dot(a_desc.load([0, k]), b_desc.load([k, 0]), c)
    c_desc.store([0, 0], c)
