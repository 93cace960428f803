# RUN: nereid compile %s:rows --signature "*bf16:16, *fp32:16, i32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s
# A loop in steps of a block counts its trips in 64 bits, and what it computes of them is as little negative as what it counts: quotients and
# remainders by a multiple of 16 are those of one number for each vector.
import triton
import triton.language as tl


# CHECK: ld.global.v4.b32
# CHECK-NOT: ld.global.b16
@triton.jit
def rows(x, y, n, width):
    at = tl.arange(0, 1024)
    sums = tl.zeros([1024], dtype=tl.float32)
    for start in range(0, n, 1024):
        place = start + at
        sums += tl.load(x + place // width * 3 * width + place % width)
    tl.store(y + at, sums)
