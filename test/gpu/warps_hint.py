# REQUIRES: ptxas
# RUN: nereid inspect %s:products --signature "*fp16:16, *fp32:16, i32:16" --target sm_90a --num-warps 4 --json | FileCheck %s
# RUN: nereid inspect %s:small --signature "*fp16:16, *fp32:16, i32:16" --target sm_90a --num-warps 4 --json | FileCheck %s --check-prefix=SMALL
# RUN: nereid inspect %root/kernels/flash_attention/one_pass.py:backward_one_pass --signature "tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp32[1, 128]>, tensordesc<fp32[1, 128]>, tensordesc<fp32[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, None, 1, i32:16, i32:16, fp32, 256, 128, 128, True, 'tf32'" --target sm_90a --num-warps 8 --num-stages 2 --json | FileCheck %s --check-prefix=WIDE
# Two sums of 128 x 256 want more registers than 8 warps have: the assembler gives up.
# WIDE: "num_warps":16,
# Two sums of 128 x 128 take all registers of 4 warps: `num_warps` is a hint, and 8 warps don't spill.
import triton
import triton.language as tl


# CHECK: "num_warps":8,{{.*}}"spill_store_bytes":0,"spill_load_bytes":0,
@triton.jit
def products(x, out, n):
    i = tl.arange(0, 128)
    tile = i[:, None] * 128 + i[None, :]
    a = tl.load(x + tile)
    s = tl.zeros((128, 128), tl.float32)
    t = tl.zeros((128, 128), tl.float32)
    for start in range(0, n, 128):
        b = tl.load(x + start * 128 + tile)
        s = tl.dot(a, b, s)
        t = tl.dot(a, b.T, t)
    tl.store(out + tile, s * t)


# SMALL: "num_warps":4,
@triton.jit
def small(x, out, n):
    i = tl.arange(0, 64)
    tile = i[:, None] * 64 + i[None, :]
    tl.store(out + tile, tl.dot(tl.load(x + tile), tl.load(x + n + tile)))
