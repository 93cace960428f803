# RUN: nereid compile %s:times_vector --signature "*i8:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:by_sums --signature "*i8:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix MOVED
# A vector that meets a loaded tile in each step is loaded where it is met; one that moves does so before it is widened.
import triton
import triton.language as tl


# CHECK: $L__BB0_{{[0-9]+}}:
# CHECK-NOT: bar.sync
# CHECK-COUNT-4: ld.global{{.*}}v4.b32
# CHECK-NOT: bar.sync
# CHECK: bra
@triton.jit
def times_vector(w_ptr, x_ptr, y_ptr, K):
    n, k = tl.arange(0, 8), tl.arange(0, 512)
    acc = tl.zeros([8, 512], dtype=tl.float32)
    for start in range(0, K, 512):
        w = tl.load(w_ptr + n[:, None] * K + start + k[None, :])
        x = tl.load(x_ptr + start + k)
        acc += w.to(tl.float32) * x.to(tl.float32)[None, :]
    tl.store(y_ptr + n, tl.sum(acc, 1))


# Its own sum is wanted too, so it lies evenly in all threads and moves, as f16.
# MOVED: tilegpu.convert_layout {{.*}} tensor<512xf16
# MOVED-NOT: tilegpu.convert_layout {{.*}} tensor<512xf32
@triton.jit
def by_sums(w_ptr, x_ptr, y_ptr, K):
    n, k = tl.arange(0, 8), tl.arange(0, 512)
    acc = tl.zeros([8, 512], dtype=tl.float32)
    total = 0.0
    for start in range(0, K, 512):
        w = tl.load(w_ptr + n[:, None] * K + start + k[None, :])
        x = tl.load(x_ptr + start + k).to(tl.float32)
        total += tl.sum(x, 0)
        acc += w.to(tl.float32) * x[None, :]
    tl.store(y_ptr + n, tl.sum(acc, 1) + total)
