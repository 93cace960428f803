# REQUIRES: ptxas
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, 0" --target sm_90a --emit ptx -o %t.ptx
# RUN: FileCheck %s --input-file %t.ptx --implicit-check-not=prmt
# RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t 2>&1 | FileCheck %s --check-prefix=PTXAS
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, 1" --target sm_90a --emit ptx -o %t.ptx
# RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t 2>&1 | FileCheck %s --check-prefix=PTXAS
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, 2" --target sm_90a --emit ptx -o %t.ptx
# RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t 2>&1 | FileCheck %s --check-prefix=PTXAS
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, 3" --target sm_90a --emit ptx -o %t.ptx
# RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t 2>&1 | FileCheck %s --check-prefix=PTXAS
# `ptxas` serialises no product that is summed in f16, whatever becomes of the sum: the left operand of another product,
# scaled behind the loop, scaled in each step, the greatest of all steps.
import triton
import triton.language as tl


# CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16
# PTXAS-NOT: C75
# PTXAS: Used {{[0-9]+}} registers
@triton.jit
def product(x, y, z, MODE: tl.constexpr):
    m = tl.arange(0, 64)[:, None]
    n = tl.arange(0, 64)[None, :]
    acc = tl.zeros([64, 64], dtype=tl.float16)
    for start in range(0, 256, 64):
        a = tl.load(x + m * 256 + start + n)
        b = tl.load(y + (start + m) * 64 + n)
        if MODE < 2:
            acc = tl.dot(a, b, acc, out_dtype=tl.float16)
        elif MODE == 2:
            acc = acc * 0.5 + tl.dot(a, b, out_dtype=tl.float16) * 0.5
        else:
            acc = tl.maximum(acc, tl.dot(a, b, out_dtype=tl.float16))
    if MODE == 0:
        acc = tl.dot(acc, tl.load(y + m * 64 + n), out_dtype=tl.float16)
    elif MODE == 1:
        acc = acc * 0.5
    tl.store(z + m * 64 + n, acc)
