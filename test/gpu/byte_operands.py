# RUN: nereid compile %s:keys --signature "*fp16:16, *i8:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix PERMUTED
# RUN: nereid compile %s:keys --signature "*fp16:16, *fp8e4nv:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix DIRECT
# RUN: nereid compile %s:keys --signature "*fp16:16, *fp16:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix HALVES
# RUN: nereid compile %s:values --signature "*fp16:16, *i8:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix STAGED
# RUN: nereid inspect %s:values --signature "*fp16:16, *i8:16, *fp32:16, i32" --target sm_90a | FileCheck %s --check-prefix BANKS
# RUN: nereid compile %s:keys --signature "*fp16:16, *i8:16, *fp32:16, i32" --target sm_80 --emit ptx | %ptxas -arch=sm_80 -o /dev/null -
# RUN: nereid compile %s:values --signature "*fp16:16, *fp8e5:16, *fp32:16, i32" --target sm_90a --emit ptx | %ptxas -arch=sm_90a -o /dev/null -
# RUN: nereid inspect %root/kernels/paged_attention/kernel.py:decode --signature "*fp16:16, *fp8e4nv:16, *fp8e4nv:16, *i32:16, *i32:16, *fp16:16, i32, i32, fp32, i32:16, i32:16, i32:16, 128, 128, 16, 16, 64, 'tf32', *fp32:16, *fp32:16" --num-warps 4 --num-stages 2 --target sm_90a | FileCheck %s --check-prefix PROGRAMS
# Slots of bytes that are widened for a product are read as it wants them.
# REQUIRES: ptxas
import triton
import triton.language as tl


# The queries are laid out once, before the loop; words of keys go from their slot to the product.
# PERMUTED: tilegpu.convert_layout %{{.*}} : tensor<16x128xf16, {{.*}}> -> tensor<16x128xf16, [[QUERIES:.*]]>
# PERMUTED: scf.for
# PERMUTED-NOT: convert_layout
# PERMUTED: tile.dot {{.*}}tilegpu.neighbours = 4 : i32{{.*}} : tensor<16x128xf16, [[QUERIES]]>
# DIRECT: $L__BB
# DIRECT-NOT: {{st.shared|ldmatrix}}
# DIRECT-COUNT-4: ld.shared.{{[bu]}}32
# DIRECT-NOT: {{st.shared|ldmatrix}}
# DIRECT-COUNT-16: mma.sync
# Such a kernel waits for memory: it does with some registers fewer where one more program fits then.
# PROGRAMS: registers 12{{[0-8]}} a thread, spills 0 B stored
# PROGRAMS: occupancy 4 programs
# Halves come by ldmatrix from where they are.
# HALVES-NOT: neighbours
@triton.jit
def keys(q, k, out, M):
    rows = tl.arange(0, 16)
    d = tl.arange(0, 128)
    n = tl.arange(0, 64)
    left = tl.load(q + rows[:, None] * 128 + d[None, :])
    sums = tl.zeros([16, 64], dtype=tl.float32)
    for i in range(M):
        right = tl.load(k + (i * 64 + n[:, None]) * 128 + d[None, :])
        sums += tl.dot(left, tl.trans(right.to(tl.float16)))
    tl.store(out + rows[:, None] * 64 + n[None, :], sums)


# Values are contiguous along the other dimension: they take a second place in shared memory, in rows of 16 bytes a lane.
# STAGED: $L__BB
# STAGED-COUNT-8: ld.shared.v2.{{[bu]}}32
# STAGED-COUNT-8: st.shared.v4.{{[bu]}}32
# STAGED: ldmatrix
# BANKS: store 16 8 8 4 4 1-way
@triton.jit
def values(p, v, out, M):
    rows = tl.arange(0, 16)
    d = tl.arange(0, 128)
    n = tl.arange(0, 64)
    left = tl.load(p + rows[:, None] * 64 + n[None, :])
    sums = tl.zeros([16, 128], dtype=tl.float32)
    for i in range(M):
        right = tl.load(v + (i * 64 + n[:, None]) * 128 + d[None, :])
        sums += tl.dot(left, right.to(tl.float16))
    tl.store(out + rows[:, None] * 128 + d[None, :], sums)
