# REQUIRES: libdevice
# RUN: nereid compile %s:kernel --signature "*fp64:16, *fp64:16, 128" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:bessel --signature "*fp32:16, *fp32:16, 128" --target sm_80 --emit ptx | FileCheck %s
# Functions of f64, and those that are not defined here, come from CUDA's library and become part of the kernel.
import triton
import triton.language as tl
from triton.language.extra import libdevice


# CHECK-NOT: call
# CHECK-NOT: __nv_
# CHECK: fma.rn.f
# CHECK-NOT: call
# CHECK-NOT: __nv_
@triton.jit
def kernel(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(y + i, tl.exp(a) + tl.math.erf(a) + libdevice.tanh(a))


@triton.jit
def bessel(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, libdevice.cyl_bessel_i0(tl.load(x + i)))
