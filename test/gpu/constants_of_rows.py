# RUN: nereid compile %s:dots --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s
# A thread's rows differ by constants, which lie in the instructions that load: one address a tensor, extended to 64 bits once. Products are
# added to the sum of their row: a multiplication and seven multiply-adds for each of 16 rows, whose sums run beside one another.
import triton
import triton.language as tl


# CHECK-COUNT-1: mul.wide.s32
# CHECK-NOT: mul.wide.s32
# CHECK-COUNT-16: mul.f32
# CHECK-NOT: mul.f32
# CHECK-COUNT-112: fma.rn.f32
# CHECK-NOT: fma.rn.f32
# CHECK-COUNT-64: add.f32
# CHECK-NOT: add.f32
# CHECK: mul.wide.s32
@triton.jit
def dots(x_ptr, y_ptr, out_ptr, rows):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    at = i[:, None] * 128 + tl.arange(0, 128)[None, :]
    x = tl.load(x_ptr + at).to(tl.float32)
    y = tl.load(y_ptr + at).to(tl.float32)
    tl.store(out_ptr + i, tl.sum(x * y, axis=1))
