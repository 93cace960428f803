# RUN: nereid compile %s:transpose --signature "*fp16:16, *fp16:16, i32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:along_k --signature "*fp8e4nv:16, *fp8e4nv:16, *fp32:16, i32:16" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=ALONG
# Tiles of one shape that are contiguous along different dimensions have a layout each: all accesses are vectors.
import triton
import triton.language as tl


# CHECK-COUNT-4: ld.global.v4.b32
# CHECK-NOT: ld.global
# CHECK-COUNT-4: st.global.v4.b32
# CHECK-NOT: st.global
@triton.jit
def transpose(x_ptr, y_ptr, M, N):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i[:, None] * N + i[None, :])
    tl.store(y_ptr + i[:, None] + i[None, :] * M, x)


# ALONG-COUNT-4: cp.async.cg.shared.global
# ALONG-NOT: ld.global
# ALONG: wgmma.mma_async
@triton.jit
def along_k(a_ptr, b_ptr, c_ptr, K):
    i = tl.arange(0, 64)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, K, 64):
        a = tl.load(a_ptr + i[:, None] * K + start + i[None, :])
        b = tl.load(b_ptr + i[None, :] * K + start + i[:, None])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * 64 + i[None, :], acc)
