# RUN: nereid compile %s:unpack --signature "*i32:16, *fp16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes CHECK,F16
# RUN: nereid compile %s:unpack --signature "*i32:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes CHECK,F32
# RUN: nereid compile %s:unpack --signature "*i32:16, *bf16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes CHECK,BF16
# RUN: nereid compile %s:unpack --signature "*i64:16, *bf16:16" --target sm_80 --emit ptx | %ptxas -arch=sm_80 -o /dev/null -
# RUN: nereid compile %s:signed --signature "*i32:16, *fp16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix SIGNED
# RUN: nereid compile %s:large --signature "*i32:16, *fp16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix LARGE
# Integers that are known to be small become floats by an addition to the bits of a large one and a difference, two halves at once; `I2F` has an eighth of their rate.
# REQUIRES: ptxas
import triton
import triton.language as tl


# 0x6400 is 1024 of f16, 0x4300 128 of bf16, 0x4b000000 2^23 of f32.
# CHECK-NOT: {{cvt.rn.f.*[su](16|32)}}
# F16: {{(add|or).*}} 1677747200
# F16: add.f16x2
# BF16: {{(add|or).*}} 1124090624
# BF16: fma.rn.bf16x2
# F32: {{(add|or).*}} 1258291200
# F32: add{{.*}}f32 {{.*}}0fCB000000
# CHECK-NOT: {{cvt.rn.f.*[su](16|32)}}
# CHECK: ret;
@triton.jit
def unpack(x, y):
    at = tl.arange(0, 1024)
    tl.store(y + at, ((tl.load(x + at // 8) >> (at % 8) * 4) & 15).to(y.dtype.element_ty))


# SIGNED-NOT: cvt.rn.f16.s32
# SIGNED: add.f16x2
# SIGNED-NOT: cvt.rn.f16.s32
# SIGNED: ret;
@triton.jit
def signed(x, y):
    at = tl.arange(0, 1024)
    tl.store(y + at, ((tl.load(x + at) & 1023) - 512).to(tl.float16))


# Not where they may be larger.
# LARGE: cvt.rn.f16.{{[su]}}32
@triton.jit
def large(x, y):
    at = tl.arange(0, 1024)
    tl.store(y + at, (tl.load(x + at) & 16777215).to(tl.float16))
