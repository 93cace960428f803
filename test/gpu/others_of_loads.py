# RUN: nereid compile %s:given --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 1024" --target sm_90a --emit ptx | FileCheck %s --check-prefix GIVEN
# What the mask of a load leaves out is in the registers of the load before it: no choice behind it, and no move.
import triton
import triton.language as tl


# GIVEN: ld.global.v4.b32 [[WORDS:{%r.*}]],
# GIVEN-NOT: {{selp|mov.[bu]32}}
# GIVEN: @%p{{[0-9]+}} ld.global.v4.b32 [[WORDS]],
# GIVEN-NOT: {{selp|mov.[bu]32}}
@triton.jit
def given(x, y, z, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < N, other=tl.load(z + at)))
