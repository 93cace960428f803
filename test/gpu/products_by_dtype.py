# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, 128, 'tf32', True, 'fp32'" --target sm_90a --emit ptx | FileCheck %s --check-prefixes=TF32,INPLACE
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, 128, 'tf32', False, 'fp32'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=TURNED
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, 128, 'tf32x3', True, 'fp32'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=TF32X3
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, 128, 'ieee', True, 'fp32'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=IEEE
# RUN: nereid compile %s:matmul --signature "*i8:16, *i8:16, *i32:16, 128, 'tf32', True, 'int32'" --target sm_90a --emit ptx | FileCheck %s --check-prefixes=I8,INPLACE
# RUN: nereid compile %s:matmul --signature "*fp8e4nv:16, *fp8e5:16, *fp32:16, 128, 'tf32', True, 'fp32'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=FP8
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp16:16, 128, 'tf32', True, 'fp16'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=HALF --implicit-check-not=cvt.rn.f16 --implicit-check-not=.f32.f16
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp16:16, 32, 'tf32', True, 'fp16'" --target sm_80 --emit ptx | FileCheck %s --check-prefix=MMAHALF
# RUN: nereid compile %s:matmul --signature "*fp8e4nv:16, *fp8e4nv:16, *fp16:16, 128, 'tf32', True, 'fp16'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=FP8HALF
# RUN: nereid compile %s:matmul --signature "*fp32:16, *fp32:16, *fp32:16, 32, 'tf32', True, 'fp32'" --target sm_80 --emit ptx | FileCheck %s --check-prefix=MMA32
# RUN: nereid compile %s:matmul --signature "*i8:16, *i8:16, *i32:16, 32, 'tf32', True, 'int32'" --target sm_80 --emit ptx | FileCheck %s --check-prefix=MMA8
# RUN: nereid compile %s:matmul --signature "*fp8e4nv:16, *fp8e4nv:16, *fp32:16, 32, 'tf32', True, 'fp32'" --target sm_89 --emit ptx | FileCheck %s --check-prefix=MMAF8
# RUN: nereid compile %s:matmul --signature "*fp8e4nv:16, *fp8e4nv:16, *fp32:16, 32, 'tf32', True, 'fp32'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=MMAHALVES
# RUN: nereid compile %s:matmul --signature "*fp8e4nv:16, *fp8e4nv:16, *fp32:16, 32, 'tf32', True, 'fp32'" --target sm_80 --emit ptx | FileCheck %s --check-prefix=NONE
# RUN: nereid compile %s:matmul --signature "*i8:16, *i8:16, *i32:16, 128, 'tf32', False, 'int32'" --target sm_90a --emit ptx | FileCheck %s --check-prefix=ANEW
# Each operand type has its instruction. Of elements that are not 16 bits wide wgmma takes those contiguous along K
# where they lie. Where words of 32 bits lie along N the product is turned over, bytes are written anew. Multiply-adds take operands
# from the slots of copies, 16 bytes at once. Sums in f16 stay two in a word while products are in flight.
import triton
import triton.language as tl


# INPLACE-NOT: ld.shared
# INPLACE: wgmma.mma_async
# TURNED-NOT: cp.async.ca
# TURNED: ld.shared.v2
# TURNED: wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32
# TURNED: cp.async.wait_group 0
# ANEW: ld.shared
# ANEW: wgmma.mma_async
# TF32: wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32
# TF32X3-COUNT-24: wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32
# IEEE-NOT: {{mma|fence.proxy|st.shared}}
# IEEE: ld.shared.v4.f32
# IEEE-NOT: {{mma|fence.proxy|st.shared|ld.shared.f32}}
# IEEE: fma.rn.f32
# IEEE-NOT: {{st.shared|ld.shared.f32}}
# IEEE: cp.async.wait_group 0
# I8: wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8
# FP8: wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e5m2
# HALF: wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16
# HALF: wgmma.wait_group.sync.aligned 1;
# HALF-NOT: mov.b32 {{{.*}}}, %r
# HALF: wgmma.wait_group.sync.aligned 0;
# MMAHALF: mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
# FP8HALF: wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3
# FP8HALF: cvt.rn.f16
# MMA32: ldmatrix.sync.aligned.m8n8.x4.shared.b16
# MMA32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
# MMA8: ldmatrix.sync.aligned.m8n8.x4.shared.b16
# MMA8: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
# MMAF8: .version 8.4
# MMAF8: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32
# MMAHALVES: cvt.rn.f16x2.e4m3x2
# MMAHALVES: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
# MMAHALVES-NOT: e4m3.f32
# NONE-NOT: mma
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M: tl.constexpr, PRECISION: tl.constexpr, ALONG_K: tl.constexpr, OUT: tl.constexpr):
    out: tl.constexpr = tl.float32 if OUT == "fp32" else tl.float16 if OUT == "fp16" else tl.int32
    m = tl.arange(0, M)
    n = tl.arange(0, 64)
    k = tl.arange(0, 64)
    acc = tl.zeros([M, 64], dtype=out)
    for start in range(0, 256, 64):
        x = tl.load(a_ptr + m[:, None] * 256 + (start + k)[None, :])
        if ALONG_K:
            y = tl.load(b_ptr + n[None, :] * 256 + (start + k)[:, None])
        else:
            y = tl.load(b_ptr + (start + k)[:, None] * 64 + n[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=out)
    tl.store(c_ptr + m[:, None] * 64 + n[None, :], acc)
