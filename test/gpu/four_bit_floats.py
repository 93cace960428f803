# RUN: nereid compile %s:weights --signature "*u8:16, *u8:16, *bf16:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes CHECK,BF16
# RUN: nereid compile %s:weights --signature "*u8:16, *u8:16, *fp16:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefixes CHECK,F16
# RUN: nereid compile %s:weights --signature "*u8:16, *u8:16, *bf16:16, *fp32:16" --target sm_80 --emit ptx | %ptxas -arch=sm_80 -o /dev/null -
# Floats of 4 bits become halves two in a word: two bytes are spread, their bits go where a half has them, and a product puts the exponent right. With scales that halves hold they are
# multiplied as halves too.
# REQUIRES: ptxas
import triton
import triton.language as tl


# Two bits of exponent and one of fraction below the sign: of bf16 at 0x01c0, of f16 at 0x0e00.
# CHECK: prmt.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0, 16704
# CHECK: prmt.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0, 17218
# CHECK-NOT: cvt.u16
# BF16: and.b32 {{.*}}, 29360576
# F16: and.b32 {{.*}}, 234884608
# BF16: fma.rn.bf16x2
# BF16-NOT: mul{{.*}}f32
# F16: mul.rn.f16x2
# CHECK: mma.sync
@triton.jit
def weights(w, scale, x, out):
    m, n, k = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 64)
    half = tl.arange(0, 32)
    codes = tl.load(w + n[:, None] * 32 + half[None, :]).T
    scales = tl.load(scale + n[:, None] * 2 + tl.arange(0, 2)[None, :])
    form: tl.constexpr = "bf16" if x.dtype.element_ty == tl.bfloat16 else "fp16"
    total = tl.dot_scaled(tl.load(x + m[:, None] * 64 + k[None, :]), None, form, codes, scales, "e2m1")
    tl.store(out + m[:, None] * 64 + n[None, :], total)
