# RUN: nereid compile %s:mul_add --signature "*fp32:16, *fp16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix FUSED
# RUN: nereid compile %s:mul_add --signature "*fp32:16, *fp16:16" --target sm_90a --emit ptx --no-fp-fusion | FileCheck %s --check-prefix APART
# RUN: nereid compile %s:mul_add --signature "*fp32:16, *fp16:16" --emit llvm | FileCheck %s --check-prefix CPU-FUSED
# RUN: nereid compile %s:mul_add --signature "*fp32:16, *fp16:16" --emit llvm --no-fp-fusion | FileCheck %s --check-prefix CPU-APART
# RUN: nereid compile %s:exp2 --signature "*fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix FLUSHED
# RUN: nereid compile %s:exp2 --signature "*fp32:16" --target sm_90a --emit ptx --no-reflect-ftz | FileCheck %s --check-prefix KEPT
# RUN: nereid compile %s:fma --signature "*fp32:16" --target sm_90a --emit ptx --no-fp-fusion | FileCheck %s --check-prefix FUSED
# What a launch says of roundings: `enable_fp_fusion=False` keeps products and sums apart, in the assembler, too, which
# leaves alone what says `.rn`; `tl.fma` rounds once all the same.
import triton
import triton.language as tl


# FUSED: fma.rn.f32
# APART-NOT: fma.rn.f
# APART-DAG: mul.rn.f32
# APART-DAG: add.rn.f32
# APART-NOT: fma.rn.f
# CPU-FUSED: fmul contract
# CPU-APART-NOT: contract
# CPU-APART: fmul
# CPU-APART: fadd
# CPU-APART-NOT: contract
@triton.jit
def mul_add(x, y):
    i = tl.arange(0, 128)
    tl.store(x + i, tl.load(x + i) * 1.5 + 1.0)
    tl.store(y + i, tl.load(y + i) * 1.5 + 1.0)


# FLUSHED: ex2.approx.ftz.f32
# KEPT: ex2.approx.f32
@triton.jit
def exp2(x):
    i = tl.arange(0, 128)
    tl.store(x + i, tl.math.exp2(tl.load(x + i)))


@triton.jit
def fma(x):
    i = tl.arange(0, 128)
    tl.store(x + i, tl.fma(tl.load(x + i), 1.5, 1.0))
