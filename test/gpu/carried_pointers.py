# RUN: nereid compile %s:product --signature "*fp8e5:16, *fp8e5:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90a --num-warps 8 --emit gpu | FileCheck %s
# B (K x N) and C (M x N) have one shape and are contiguous along different dimensions. The pointers that the loop carries
# lie like the loads through them, so they don't move between threads.
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-NOT: convert_layout
# CHECK: scf.yield
@triton.jit
def product(a, b, c, K, stride_am, stride_bn):
    m = tl.arange(0, 128)
    n = tl.arange(0, 256)
    k = tl.arange(0, 128)
    a += m[:, None] * stride_am + k[None, :]
    b += k[:, None] + n[None, :] * stride_bn
    acc = tl.zeros((128, 256), tl.float32)
    for _ in range(0, K, 128):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += 128
        b += 128
    tl.store(c + m[:, None] * 256 + n[None, :], acc.to(tl.float16))
