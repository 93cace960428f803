# RUN: nereid compile %s:store --signature "*fp16:16, *fp16:16, *fp16:16, i32, True, False" --target sm_90a --emit ptx | FileCheck %s --check-prefixes=BULK,ALL
# RUN: nereid compile %s:store --signature "*fp16:16, *fp16:16, *fp16:16, i32, False, False" --target sm_90a --emit ptx | FileCheck %s --check-prefixes=MOVED,ALL
# RUN: nereid compile %s:store --signature "*bf16:16, *bf16:16, *bf16:16, i32, True, True" --target sm_90a --emit ptx | FileCheck %s --check-prefixes=TURNED
# RUN: nereid compile %s:store --signature "*fp16:16, *fp16:16, *fp16:16, i32, False, False" --target sm_80 --emit ptx | FileCheck %s --check-prefix=OLD
# RUN: nereid inspect %s:store --signature "*fp16:16, *fp16:16, *fp16:16, i32, True, False" --target sm_90a | FileCheck %s --check-prefix=BANKS
# RUN: nereid inspect %s:store --signature "*bf16:16, *bf16:16, *bf16:16, i32, True, True" --target sm_90a | FileCheck %s --check-prefix=BANKS
# Sums of 16 bits leave for shared memory in whole matrices, as they lie or turned over, without bank conflicts.
# REQUIRES: ptxas
import triton
import triton.language as tl


# ALL: wgmma.mma_async
# BULK-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
# BULK-NOT: stmatrix
# BULK: cp.async.bulk.tensor.2d.global
# MOVED-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
# MOVED: ld.shared.v4
# MOVED: st.global.v4
# TURNED-COUNT-4: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
# TURNED: cp.async.bulk.tensor.2d.global
# OLD-NOT: stmatrix
# OLD: st.shared
# BANKS: stmatrix 16 8 4 4 4 1-way
@triton.jit
def store(a_ptr, b_ptr, c_ptr, K, IN_BLOCKS: tl.constexpr, TRANSPOSED: tl.constexpr):
    m = tl.arange(0, 64)
    k = tl.arange(0, 64)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a_ptr + m[:, None] * 1024 + (start + k)[None, :])
        y = tl.load(b_ptr + (start + k)[:, None] * 64 + m[None, :])
        acc = tl.dot(x, y, acc)
    c = acc.to(c_ptr.dtype.element_ty)
    if TRANSPOSED:
        c = c.T
    if IN_BLOCKS:
        tl.make_tensor_descriptor(c_ptr, [64, 64], [64, 1], [64, 64]).store([0, 0], c)
    else:
        tl.store(c_ptr + m[:, None] * 64 + m[None, :], c)
