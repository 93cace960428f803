# RUN: nereid compile %s:widen --signature "*i8:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes CHECK,F32
# RUN: nereid compile %s:widen --signature "*u8:16, *fp16:16" --target sm_80 --emit ptx | FileCheck %s --check-prefixes CHECK,F16
# RUN: nereid compile %s:widen --signature "*i8:16, *bf16:16" --target sm_90a --emit ptx | %ptxas -arch=sm_90a -o /dev/null -
# RUN: nereid compile %s:one --signature "i8, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE
# Integers of 8 bits become floats by a permutation of bytes and a difference, four of a word; `I2F` has an eighth of their rate.
# REQUIRES: ptxas
import triton
import triton.language as tl


# CHECK-NOT: {{cvt.rn.f.*[su](8|16|32)|bfe}}
# F32: xor.b32 {{.*}} -2139062144
# F32-COUNT-4: prmt.b32 {{.*}} 1258291200
# F32-NOT: prmt
# F16-NOT: xor
# F16-COUNT-2: prmt.b32 {{.*}} 1684300900
# F16-NOT: prmt
# CHECK-NOT: {{cvt.rn.f.*[su](8|16|32)|bfe}}
# CHECK: ret;
@triton.jit
def widen(x, y):
    at = tl.arange(0, 512)
    tl.store(y + at, tl.load(x + at).to(y.dtype.element_ty))


# ONE-NOT: cvt.rn.f32
# ONE: ret;
@triton.jit
def one(x, y):
    tl.store(y, x.to(tl.float32))
