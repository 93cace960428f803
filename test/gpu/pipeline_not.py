# RUN: nereid compile %s:writes --signature "*fp16:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:fills --signature "*fp16:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:large --signature "*fp16:16, *fp32:16, i32" --target sm_86 --emit gpu | FileCheck %s --check-prefix=LARGE
# What is not copied ahead.
import triton
import triton.language as tl


# A store may change what the next step reads.
# CHECK-NOT: copy_async
@triton.jit
def writes(x_ptr, out_ptr, N):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    for start in range(0, N):
        x = tl.load(x_ptr + start * 4096 + at)
        tl.store(x_ptr + start * 4096 + 4096 + at, tl.dot(x, x).to(tl.float16))


# Copies fill with zeros only.
@triton.jit
def fills(x_ptr, out_ptr, N):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, N):
        x = tl.load(x_ptr + start * 4096 + at, mask=start * 4096 + at < N, other=1.0)
        acc = tl.dot(x, x, acc)
    tl.store(out_ptr + at, acc)


# Three stages of 64 KiB do not fit the 99 KiB of a block, nor do two.
# LARGE-NOT: copy_async
@triton.jit
def large(x_ptr, out_ptr, N):
    i = tl.arange(0, 256)
    j = tl.arange(0, 128)
    acc = tl.zeros([256, 256], dtype=tl.float32)
    for start in range(0, N):
        x = tl.load(x_ptr + start * 32768 + i[:, None] * 128 + j[None, :])
        acc = tl.dot(x, tl.trans(x), acc)
    tl.store(out_ptr + i[:, None] * 256 + i[None, :], acc)
