# RUN: nereid compile %s:gradients --signature "*bf16:16, *bf16:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s
# Where a loop adds f32 to memory beside stores of 16-bit elements, a thread holds what one addition takes: of eight elements it would make two
# with gaps between each other, and memory works on every sector twice.
import triton
import triton.language as tl


# CHECK-COUNT-2: ld.global.v2.b32
# CHECK-COUNT-2: red.relaxed.gpu.global.add.v4.f32
# CHECK-COUNT-2: st.global.v2.b32
# CHECK-NOT: st.global
@triton.jit
def gradients(x_ptr, y_ptr, sum_ptr, n):
    i = tl.arange(0, 1024)
    for row in range(n):
        x = tl.load(x_ptr + row * 1024 + i)
        tl.atomic_add(sum_ptr + i, x.to(tl.float32), sem="relaxed")
        tl.store(y_ptr + row * 1024 + i, x * 2)
