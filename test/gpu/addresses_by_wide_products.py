# RUN: nereid compile %s:rows --signature "*fp32:16, *fp32:16, i32:16, i32, i32" --target sm_90a --emit ptx | FileCheck %s
# A row's number and a stride, both of 32 bits, are multiplied by one instruction, though the stride is extended in front of the loop.
import triton
import triton.language as tl


# CHECK-NOT: mul.lo.s64
# CHECK: mul.wide.s32
# CHECK-NOT: mul.lo.s64
@triton.jit
def rows(x, y, stride, first, last):
    columns = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    for row in range(first, last):
        total += tl.load(x + (row + tl.load(y).to(tl.int32)).to(tl.int64) * stride + columns)
    tl.store(y + columns, total)
