# RUN: nereid compile %s:convert --signature "*fp32:16, *i8:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes=CHECK,S8
# RUN: nereid compile %s:convert --signature "*bf16:16, *u16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes=CHECK,U16
# RUN: nereid compile %s:convert --signature "*fp32:16, *i32:16" --target sm_80 --emit ptx | FileCheck %s --check-prefixes=CHECK,S32
# RUN: nereid compile %s:convert --signature "*fp32:16, *i64:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=S64
# RUN: nereid compile %s:convert --signature "*fp64:16, *i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=F64
# A conversion to integers saturates and gives 0 for NaN: the instruction does it, but for NaN where a type has 64 bits.
import triton
import triton.language as tl


# CHECK-NOT: {{setp.nan|min|max|selp}}
# S8: cvt.rzi.s8.f32
# U16: cvt.rzi.u16.f32
# S32: cvt.rzi.s32.f32
# CHECK-NOT: {{setp.nan|min|max|selp}}
# S64: cvt.rzi.s64.f32
# S64: setp.nan.f32
# S64-NOT: {{min|max}}
# S64: selp.b64
# F64: cvt.rzi.s32.f64
# F64: setp.nan.f64
# F64: selp.b32
@triton.jit
def convert(x_ptr, y_ptr):
    at = tl.arange(0, 128)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(y_ptr.dtype.element_ty))
