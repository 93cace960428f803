# RUN: nereid compile %s:scaled --signature "*bf16:16, *bf16:16, *bf16:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=HALVES
# RUN: nereid compile %s:widened --signature "*bf16:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=WIDE
# Halves that are computed with come out of their word together, so that the assembler multiplies two at once; those that become f32 need no
# register of 16 bits.
# HALVES-COUNT-4: mov.b32 {%rs{{[0-9]+}}, %rs{{[0-9]+}}}, %r
# HALVES-NOT: cvt.u16.u32
# HALVES: mul.bf16
# WIDE-NOT: mov.b32 {%rs
# WIDE: st.global
import triton
import triton.language as tl


@triton.jit
def scaled(x, y, out):
    at = tl.arange(0, 512)
    tl.store(out + at, tl.load(x + at) * tl.load(y + at))


@triton.jit
def widened(x, out):
    at = tl.arange(0, 512)
    tl.store(out + at, tl.load(x + at).to(tl.float32) * 2)
