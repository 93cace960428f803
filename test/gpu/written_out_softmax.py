# RUN: nereid compile %s:softmax --signature "*fp32:16, *fp32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s
# A softmax as PyTorch's compiler writes it: the greatest element, NaN if there is one, is one instruction for each of 32, in any order,
# and `libdevice.exp` takes eight.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def maximum(a, b):
    mask = a > b
    mask |= a != a
    return tl.where(mask, a, b)


# CHECK-NOT: selp
# CHECK-COUNT-36: max.NaN.f32
# CHECK-NOT: max
# CHECK-NOT: cvt
# CHECK: fma.rn.sat.f32
# CHECK: fma.rm.f32
# CHECK: ex2.approx.ftz.f32
# CHECK-NOT: selp
# CHECK-NOT: cvt
# CHECK: st.global.v4
@triton.jit
def softmax(x_ptr, y_ptr):
    at = tl.program_id(0) * 1024 + tl.arange(0, 1024)[None, :]
    x = tl.load(x_ptr + at)
    e = libdevice.exp(x - tl.reduce(x, 1, maximum)[:, None])
    tl.store(y_ptr + at, e / tl.sum(e, 1)[:, None])
