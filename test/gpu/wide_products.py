# RUN: nereid compile %s:draw --signature "*i32:16, i32" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s
# A round of Philox wants both halves of two products: one instruction has both.
import triton
import triton.language as tl


# CHECK-NOT: mul.hi
# CHECK: mul.wide.u32
# CHECK-NOT: mul.hi
# CHECK-NOT: mul.lo
@triton.jit
def draw(x_ptr, seed):
    at = tl.arange(0, 32)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(x_ptr + at, a ^ b ^ c ^ d)
