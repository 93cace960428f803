# RUN: nereid compile %s:kernel --signature "*fp32:16, *fp32:16, 128" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:kernel --signature "*fp32:16, *fp32:16, 128" --target sm_90a --emit ptx --no-reflect-ftz | FileCheck %s --check-prefix KEPT
# RUN: nereid compile %s:roots --signature "*fp32:16, *fp32:16, 128" --target sm_90a --emit ptx | FileCheck %s --check-prefix ROOTS
# The quick functions of libdevice are what CUDA's are, and count subnormal numbers as zero unless a launch forbids it.
import triton
import triton.language as tl
from triton.language.extra import libdevice


# CHECK-DAG: div.approx.ftz.f32
# CHECK-DAG: lg2.approx.ftz.f32
# CHECK-DAG: ex2.approx.ftz.f32
# CHECK-DAG: sin.approx.ftz.f32
# CHECK-DAG: cos.approx.ftz.f32
# CHECK-NOT: div.rn
# CHECK: ret;
# KEPT-NOT: ftz
# KEPT: ret;
@triton.jit
def kernel(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = libdevice.fast_powf(a, libdevice.fast_dividef(a, 3.0 + a))
    tl.store(y + i, b)
    tl.store(y + N + i, libdevice.fast_sinf(a) + libdevice.fast_tanf(b))


# The roots of a function's own name are as quick as the operations; one that says how it rounds is exact.
# ROOTS-DAG: sqrt.approx.ftz.f32
# ROOTS-DAG: sqrt.approx.ftz.f32
# ROOTS-DAG: rsqrt.approx.ftz.f32
# ROOTS-DAG: sqrt.rn.f32
# ROOTS: ret;
@triton.jit
def roots(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(y + i, tl.sqrt(a) + 1)
    tl.store(y + N + i, libdevice.sqrt(a + 2))
    tl.store(y + 2 * N + i, libdevice.rsqrt(a) + libdevice.sqrt_rn(a))
