# RUN: nereid compile %s:gated --signature "*bf16:16, *bf16:16, *bf16:16, 1024" --target sm_80 --emit ptx | FileCheck %s --check-prefixes BF16,WORDS
# RUN: nereid compile %s:gated --signature "*fp16:16, *fp16:16, *fp16:16, 1024" --target sm_90a --emit ptx | FileCheck %s --check-prefixes F16,WORDS
# RUN: nereid compile %s:kept --signature "*bf16:16, *bf16:16, *bf16:16, 1024" --target sm_90a --emit ptx | FileCheck %s --check-prefix KEPT
# What f32 computes of halves and rounds to halves is an instruction on two of them.
import triton
import triton.language as tl


# BF16: fma.rn.bf16x2
# BF16: fma.rn.bf16x2
# F16: add.rn.f16x2
# F16: mul.rn.f16x2
# WORDS-NOT: cvt.
# WORDS: st.global
@triton.jit
def gated(x, y, z, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at), tl.load(y + at)
    sum = (a.to(tl.float32) + b.to(tl.float32)).to(x.dtype.element_ty)
    tl.store(z + at, (sum.to(tl.float32) * a.to(tl.float32)).to(x.dtype.element_ty))


# The sum is wanted in f32 too.
# KEPT-NOT: fma.rn.bf16x2
# KEPT: cvt.rn.bf16x2.f32
@triton.jit
def kept(x, y, z, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    sum = tl.load(x + at).to(tl.float32) + tl.load(y + at).to(tl.float32)
    tl.store(z + at, (tl.exp(sum) + sum).to(x.dtype.element_ty))
    tl.store(x + at, sum.to(x.dtype.element_ty))
