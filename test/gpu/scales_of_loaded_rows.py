# RUN: nereid compile %s:product_of_experts --signature "*fp8e4nv:16, *fp8e4nv:16, *fp32:16, *fp32:16, *bf16:16, *i32:16, i32:16, i32:16" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s
# Scales of rows that are loaded at addresses from outside of the loop are loaded as the sums that they meet: the addresses move once.
import triton
import triton.language as tl


# CHECK: tilegpu.convert_layout {{.*}} tensor<128x!tile.ptr<f32>
# CHECK: scf.for
# CHECK-NOT: tilegpu.convert_layout
# CHECK: tile.dot
# CHECK-NOT: tilegpu.convert_layout
# CHECK: scf.yield
@triton.jit
def product_of_experts(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, rows_ptr, K, lines):
    m, n, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 128)
    rows = tl.load(rows_ptr + m)
    mask = rows < lines
    a_ptrs = a_ptr + rows[:, None] * K + k[None, :]
    b_ptrs = b_ptr + n[None, :] * K + k[:, None]
    a_scales = a_scale_ptr + rows * (K // 128)
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for start in range(0, K, 128):
        a = tl.load(a_ptrs, mask=mask[:, None], other=0.0)
        b = tl.load(b_ptrs)
        scale = tl.load(a_scales + start // 128, mask=mask, other=0.0)
        acc += tl.dot(a, b) * (scale[:, None] * tl.load(b_scale_ptr + start // 128))
        a_ptrs += 128
        b_ptrs += 128
    tl.store(c_ptr + rows[:, None] * 128 + n[None, :], acc.to(tl.bfloat16), mask=mask[:, None])
