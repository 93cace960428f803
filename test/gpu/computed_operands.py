# RUN: nereid compile %s:sums_before --signature "*fp32:16, *fp32:16" --num-warps 2 --target sm_90a --emit ptx | FileCheck %s
# What is computed for multiply-adds is written along K, as threads read it: 16 bytes at once.
import triton
import triton.language as tl


# CHECK-LABEL: .entry sums_before
# CHECK-COUNT-128: ld.shared.v4
# CHECK-NOT: ld.shared
# CHECK: st.global
@triton.jit
def sums_before(x_ptr, y_ptr):
    i, j = tl.arange(0, 64), tl.arange(0, 16)
    at = i[:, None] * 16 + j[None, :]
    before = tl.where(i[:, None] >= i[None, :], 1.0, 0.0)
    tl.store(y_ptr + at, tl.dot(before, tl.load(x_ptr + at), input_precision="ieee"))
