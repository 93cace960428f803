# RUN: nereid compile %s:both --signature "*fp8e4nv:16, *fp16:16, *fp32:16, *fp8e5:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:both --signature "*fp8e4nv:16, *fp16:16, *fp32:16, *fp8e5:16" --target sm_89 --emit ptx | %ptxas -arch=sm_89 -o /dev/null -
# RUN: nereid compile %s:both --signature "*fp8e4nv:16, *fp16:16, *fp32:16, *fp8e5:16" --target sm_80 --emit ptx | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %s:one --signature "*fp8e5:16, *fp8e4nv:16, fp32, fp64" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE
# RUN: nereid compile %s:others --signature "*fp32:16, *fp8e4b15:16, *fp8e5:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix OTHERS
# Numbers of 8 bits are converted two at once where the chip has the instruction.
# REQUIRES: ptxas
import triton
import triton.language as tl


# Four elements a thread: two conversions each way, words are not taken apart for them.
# CHECK: ld.global{{.*}}b32
# CHECK-NOT: {{bfe|or\.b|shl}}
# CHECK: cvt.rn.f16x2.e4m3x2
# CHECK-NOT: {{bfe|or\.b|shl}}
# CHECK: cvt.rn.f16x2.e4m3x2
# CHECK-NOT: cvt.rn.f16x2.e4m3x2
# CHECK: cvt.rn.satfinite.e5m2x2.f32
# CHECK: cvt.rn.satfinite.e5m2x2.f32
# CHECK-NOT: cvt.rn.satfinite
# CHECK: ret;
# AMPERE-NOT: e4m3x2
# AMPERE-NOT: e5m2x2
@triton.jit
def both(x, y, z, w):
    at = tl.arange(0, 512)
    wide = tl.load(x + at)
    tl.store(y + at, wide.to(tl.float16))
    tl.store(z + at, wide.to(tl.float32))
    tl.store(w + at, (wide.to(tl.float32) * 3.0).to(tl.float8e5))


# ONE: cvt.rn.satfinite.e5m2x2.f32
# ONE-NOT: cvt.rn.satfinite
# ONE: ret;
@triton.jit
def one(x, y, a, b):
    tl.store(x, a.to(tl.float8e5))
    tl.store(y, b.to(tl.float8e4nv))


# OTHERS-NOT: cvt.rn.satfinite
# OTHERS: ret;
@triton.jit
def others(x, y, z):
    at = tl.arange(0, 512)
    tl.store(y + at, tl.load(x + at).to(tl.float8e4b15))
    tl.store(z + at, tl.load(x + at).to(tl.float8e5, fp_downcast_rounding="rtz"))
