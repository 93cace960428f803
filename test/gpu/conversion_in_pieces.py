# RUN: nereid inspect %s:turned --signature "*fp16:16, *fp16:16" --target sm_86 | FileCheck %s
# RUN: nereid inspect %s:turned --signature "*fp16:16, *fp16:16" --target sm_90a | FileCheck %s --check-prefix LARGE
# A conversion takes half of the chip's shared memory at most and goes in pieces above it: 128 KiB of 4096 padded rows are
# more than the 99 KiB of sm_86.
import triton
import triton.language as tl


# CHECK: shared memory{{ +}}32.06 KiB
# LARGE: shared memory{{ +}}64.12 KiB
@triton.jit
def turned(x, y):
    i = tl.arange(0, 4096)
    j = tl.arange(0, 8)
    tl.store(y + j[:, None] * 4096 + i[None, :], tl.trans(tl.load(x + i[:, None] * 8 + j[None, :])))
