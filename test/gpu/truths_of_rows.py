# RUN: nereid compile %s:any_row --signature "*fp16:16, *i1, i32:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:sums --signature "*i32:16, *i32, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=SUMS
# A half that is compared with zero is one instruction, not two on its bits; what a warp's lanes hold is combined in one, where the hardware
# knows how.
import triton
import triton.language as tl


@triton.jit
def either(a, b):
    return a | b


# CHECK-NOT: 32767
# CHECK-COUNT-8: setp.neu.f16
# CHECK-NOT: shfl.sync
# CHECK: redux.sync.or.b32
# CHECK-NOT: shfl.sync
@triton.jit
def any_row(x_ptr, out_ptr, n):
    row = tl.program_id(0)
    found = tl.zeros([1024], tl.int1)
    for start in range(0, n, 1024):
        found = found | (tl.load(x_ptr + row * n + start + tl.arange(0, 1024)) != 0)
    tl.store(out_ptr + row, tl.reduce(found, 0, either))


# SUMS-NOT: shfl.sync
# SUMS: redux.sync.add.s32
# SUMS-NOT: shfl.sync
@triton.jit
def sums(x_ptr, out_ptr, stride):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * stride + tl.arange(0, 1024)), 0))
