# RUN: nereid compile %s:kernel --signature "*i32:16, *i32:16, *i32:16, 128" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:rests --signature "*u32:16, *u32:16, *u32:16, 128" --target sm_90a --emit ptx | FileCheck %s --check-prefix RESTS
# A division of 32 bits is the assembler's, which does what is wanted where the divisor is 0 or -1: nothing is asked before it.
import triton
import triton.language as tl


# The remainder of numbers that are divided, too, comes of the quotient.
# CHECK-NOT: setp
# CHECK: div.s32
# CHECK-NOT: {{setp|rem|div}}
# CHECK: ret;
@triton.jit
def kernel(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(z + i, a // b + a % b)


# One alone has no quotient; of 0 it is the dividend.
# RESTS-DAG: rem.u32
# RESTS-DAG: setp.{{eq|ne}}.s32
# RESTS-NOT: div
# RESTS: ret;
@triton.jit
def rests(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, tl.load(x + i) % tl.load(y + i))
