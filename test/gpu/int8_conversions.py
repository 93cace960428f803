# RUN: nereid compile %s:both --signature "*i8:16, *fp16:16, *bf16:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:both --signature "*i8:16, *fp16:16, *bf16:16" --target sm_80 --emit ptx | %ptxas -arch=sm_80 -o /dev/null -
# RUN: nereid compile %s:unsigned --signature "*u8:16, *fp16:16, *bf16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix UNSIGNED
# RUN: nereid compile %s:others --signature "*i8:16, *fp32:16, *fp16:16, i8" --target sm_90a --emit ptx | FileCheck %s --check-prefix OTHERS
# Bytes become halves two at once, without the unit for conversions.
# REQUIRES: ptxas
import triton
import triton.language as tl


# Four elements a thread.
# CHECK: ld.global{{.*}}b32
# CHECK-NOT: cvt
# CHECK-COUNT-2: sub.rn.f16x2
# CHECK-NOT: cvt
# CHECK-COUNT-2: fma.rn.bf16x2
# CHECK-NOT: {{cvt|sub.rn.f16x2|fma.rn.bf16x2}}
# CHECK: ret;
@triton.jit
def both(x, y, z):
    at = tl.arange(0, 512)
    bytes = tl.load(x + at)
    tl.store(y + at, bytes.to(tl.float16))
    tl.store(z + at, bytes.to(tl.bfloat16))


# UNSIGNED: sub.rn.f16x2
# UNSIGNED: cvt.rn.{{.*}}u
# UNSIGNED-NOT: fma.rn.bf16x2
# UNSIGNED: ret;
@triton.jit
def unsigned(x, y, z):
    at = tl.arange(0, 512)
    bytes = tl.load(x + at)
    tl.store(y + at, bytes.to(tl.float16))
    tl.store(z + at, bytes.to(tl.bfloat16))


# What has no neighbour in its word, and numbers that are wider.
# OTHERS-NOT: sub.rn.f16x2
# OTHERS: ret;
@triton.jit
def others(x, y, z, a):
    at = tl.arange(0, 512)
    tl.store(y + at, tl.load(x + at).to(tl.float32))
    tl.store(z + at, tl.load(x + at * 3).to(tl.float16))
    tl.store(z, a.to(tl.float16))
