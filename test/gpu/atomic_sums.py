# REQUIRES: ptxas
# RUN: nereid compile %s:add --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix F32
# RUN: nereid compile %s:add --signature "*fp16:16, *fp16:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix F16
# RUN: nereid compile %s:add --signature "*bf16:16, *bf16:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix BF16
# RUN: nereid compile %s:add --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix ODD
# RUN: nereid compile %s:add --signature "*fp32:16, *fp32:16, i32:16" --target sm_80 --emit ptx | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %s:add --signature "*fp16:16, *fp16:16, i32:16" --target sm_80 --emit ptx | FileCheck %s --check-prefix PAIRS
# RUN: nereid compile %s:add --signature "*bf16:16, *bf16:16, i32:16" --target sm_80 --emit ptx | FileCheck %s --check-prefix SWAPS
# RUN: nereid compile %s:add --signature "*bf16:16, *bf16:16, i32:16" --target sm_90a --emit cubin -o %t
# RUN: nereid compile %s:add --signature "*fp16:16, *fp16:16, i32:16" --target sm_80 --emit cubin -o %t
# RUN: nereid compile %s:wanted --signature "*fp32:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix WANTED
# Sums that nobody reads back go four words at a time, and one fence orders all of a thread's.
import triton
import triton.language as tl


# F32: fence.acq_rel.gpu;
# F32: @%p{{[0-9]+}} red.relaxed.gpu.global.add.v4.f32 [%rd{{[0-9]+}}], {
# F32: red.relaxed.gpu.global.add.v4.f32
# F32: fence.acq_rel.gpu;
# F32-NOT: fence
# F32-NOT: atom
# F32: ret;
# F16: red.relaxed.gpu.global.add.v4.noftz.f16x2
# BF16: red.relaxed.gpu.global.add.v4.noftz.bf16x2
# The end of the mask is not at a multiple of four.
# ODD: red.relaxed.gpu.global.add.f32
# AMPERE: red.relaxed.gpu.global.add.f32
# PAIRS: red.relaxed.gpu.global.add.noftz.f16x2
# SWAPS: atom.global.gpu.relaxed.cas.b16
@triton.jit
def add(x_ptr, y_ptr, N):
    i = tl.arange(0, 1024)
    tl.atomic_add(y_ptr + i, tl.load(x_ptr + i), mask=i < N)


# WANTED: fence.acq_rel.gpu;
# WANTED: atom.global.gpu.relaxed.add.f32
@triton.jit
def wanted(x_ptr, y_ptr):
    i = tl.arange(0, 1024)
    tl.store(x_ptr + i, tl.atomic_add(y_ptr + i, 1.0))
