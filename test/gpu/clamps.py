# RUN: nereid compile %s:kernel --signature "*fp32:16, *fp32:16, *fp32:16, 128" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:kernel --signature "*fp32:16, *fp32:16, *fp32:16, 128" --target sm_80 --emit ptx | FileCheck %s --check-prefix TWO
# RUN: nereid compile %s:apart --signature "*fp32:16, *fp32:16, *fp32:16, 128" --target sm_90a --emit ptx | FileCheck %s --check-prefix APART
# RUN: nereid compile %s:sizes --signature "*bf16:16, *bf16:16, 1024" --target sm_90a --emit ptx | FileCheck %s --check-prefix SIZES
import triton
import triton.language as tl


# A clamp between -y and y is one instruction, also where the bounds are numbers or repeated. An sm_80 has none such.
# TWO-NOT: xorsign
# TWO: max.f32
# TWO: min.f32
# CHECK-NOT: max.f32
# CHECK-COUNT-2: min.xorsign.abs.f32
# CHECK-NOT: max.f32
# CHECK: ret;
@triton.jit
def kernel(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(z + i, tl.clamp(a, -b, b))
    tl.store(z + N + i, tl.clamp(a, -3.5, 3.5))


# Where the bounds are others, where NaN goes through, and where the source says which of the two comes first, it is not.
# APART-NOT: xorsign
# APART: ret;
@triton.jit
def apart(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(z + i, tl.clamp(a, -3.5, 3.25))
    tl.store(z + N + i, tl.clamp(a, -b, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(z + 2 * N + i, tl.minimum(tl.maximum(a, -b), b))


# The size of a half is taken of both in a word at once.
# SIZES: mov.b32 {{\{?}}
# SIZES-COUNT-8: abs.bf16
# SIZES-NOT: 32767
# SIZES: ret;
@triton.jit
def sizes(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + tl.program_id(0), tl.max(tl.abs(tl.load(x + i))))
