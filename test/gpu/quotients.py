# RUN: nereid compile %s:quotients --signature "*fp32:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s
# How exact a quotient is: 2 ulp everywhere, rounded, or 2 ulp where the divisor is neither tiny nor huge.
import triton
import triton.language as tl


# CHECK-DAG: div.full.f32
# CHECK-DAG: div.rn.f32
# CHECK-DAG: div.approx.f32
@triton.jit
def quotients(x, y):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(x + i, a / b)
    tl.store(x + 128 + i, tl.fdiv(a, b, ieee_rounding=True))
    tl.store(x + 256 + i, tl.fdiv(a, b, approx=True))
