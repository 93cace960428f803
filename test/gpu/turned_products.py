# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, i32, 128, 128, 64, False, False" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s --check-prefix TURNED
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, i32, 128, 128, 64, False, False" --num-warps 8 --target sm_90a --emit ptx | FileCheck %s --check-prefixes WORDS
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, i32, 128, 128, 64, False, True" --num-warps 8 --target sm_90a --emit ptx | FileCheck %s --check-prefix DESCS
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, i32, 128, 128, 32, False, False" --num-warps 4 --target sm_90a --emit ptx | FileCheck %s --check-prefix WIDE
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, i32, 128, 128, 64, True, False" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s --check-prefix LEFT
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, i32, 128, 32, 64, False, False" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s --check-prefix NARROW
# RUN: nereid inspect %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, i32, 128, 128, 64, False, False" --num-warps 8 --target sm_90a | FileCheck %s --check-prefix BANKS
# Words of a right operand that lies along N are the left operand of the product that is turned over: they go from their slot to
# registers, and copies are 16 bytes or whole blocks.
# REQUIRES: ptxas
import triton
import triton.language as tl


# TURNED: scf.for
# TURNED: tilegpu.read_slot {{.*}} tensor<64x128xf32, [[SLOT:#layout[0-9]*]]>
# TURNED: tile.trans {{.*}} tensor<64x128xf32, [[SLOT]]> -> tensor<128x64xf32, [[ROWS:#layout[0-9]*]]>
# TURNED: tile.dot {{.*}}tilegpu.pending = 1 {{.*}}tilegpu.rows_together} : tensor<128x64xf32, [[ROWS]]>
# TURNED: scf.yield
# TURNED: tile.trans {{.*}} tensor<128x128xf32
# In two pieces: while the instructions of one run, the words of the other are read.
# WORDS-NOT: cp.async.ca
# WORDS: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16
# WORDS: wgmma.wait_group.sync.aligned 1;
# WORDS-COUNT-8: ld.shared.v2
# WORDS: wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32
# WORDS: wgmma.wait_group.sync.aligned 1;
# WORDS-COUNT-8: ld.shared.v2
# WORDS: wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32
# WORDS: wgmma.wait_group.sync.aligned 2;
# DESCS-NOT: cp.async.c{{[ag]}}
# DESCS: cp.async.bulk.tensor
# DESCS: wgmma.wait_group.sync.aligned 1;
# DESCS-COUNT-8: ld.shared.v2
# DESCS: wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32
# Where a thread has more rows it reads 16 bytes at once.
# WIDE-COUNT-4: ld.shared.v4
# WIDE: wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32
# A left operand that lies along M needs no turn.
# LEFT-NOT: tile.trans
# LEFT: tilegpu.read_slot {{.*}} -> tensor<128x64xf32, [[ROWS:#layout[0-9]*]]>
# LEFT: tile.dot {{.*}}tilegpu.rows_together{{.*}} : tensor<128x64xf32, [[ROWS]]>
# LEFT-NOT: tile.trans
# Fewer than 64 columns are no rows of a warp group.
# NARROW-NOT: rows_together
# BANKS: load 8 2 16 2 2 1-way
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr, TRANSPOSED: tl.constexpr, BLOCKS: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([M, N], dtype=tl.float32)
    if BLOCKS:
        a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [1024, 1], [M, BLOCK_K])
        b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, N])
    for start in range(0, K, BLOCK_K):
        if BLOCKS:
            x = a_desc.load([0, start])
            y = b_desc.load([start, 0])
        else:
            if TRANSPOSED:
                x = tl.load(a_ptr + m[:, None] + (start + k)[None, :] * M)
                y = tl.load(b_ptr + n[None, :] * 1024 + (start + k)[:, None])
            else:
                x = tl.load(a_ptr + m[:, None] * 1024 + (start + k)[None, :])
                y = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)
