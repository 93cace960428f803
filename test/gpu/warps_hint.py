# REQUIRES: ptxas
# RUN: nereid inspect %s:products --signature "*fp16:16, *fp32:16, i32:16" --target sm_90a --num-warps 4 --json | FileCheck %s
# RUN: nereid inspect %s:small --signature "*fp16:16, *fp32:16, i32:16" --target sm_90a --num-warps 4 --json | FileCheck %s --check-prefix=SMALL
# RUN: nereid inspect %root/kernels/flash_attention/one_pass.py:backward_one_pass --signature "tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp32[1, 128]>, tensordesc<fp32[1, 128]>, tensordesc<fp32[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, tensordesc<fp16[1, 1, 128, 256]>, None, 1, i32:16, i32:16, fp32, 256, 128, 128, True, 'tf32'" --target sm_90a --num-warps 8 --num-stages 2 --json | FileCheck %s --check-prefix=WIDE
# RUN: nereid inspect %s:attend --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, i32:16" --target sm_90a --num-warps 4 --num-stages 1 --json | FileCheck %s --check-prefix=SELDOM
# RUN: nereid compile %s:rows --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --num-warps 4 --emit cubin -o %t --time-passes 2>&1 | FileCheck %s --check-prefix=ONCE
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


# A few words that a step of many instructions spills cost less than the second program, for which 8 warps leave no
# registers.
# SELDOM: "num_warps":4,{{.*}}"spill_store_bytes":{{[1-9]}}
@triton.jit
def attend(q, k, v, out, bias, n, past):
    i, d, j = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    a = tl.load(q + i[:, None] * 128 + d[None, :])
    largest = tl.full([128], float("-inf"), tl.float32)
    total = tl.full([128], 1.0, tl.float32)
    acc = tl.zeros([128, 128], tl.float32)
    for start in range(0, past, 64):
        s = tl.dot(a, tl.load(k + (start + j[None, :]) * 128 + d[:, None]))
        largest, total, acc = step(s, v, start, largest, total, acc)
    for start in range(past, n, 64):
        s = tl.dot(a, tl.load(k + (start + j[None, :]) * 128 + d[:, None]))
        s += tl.load(bias + i[:, None] * n + start + j[None, :])
        largest, total, acc = step(s, v, start, largest, total, acc)
    tl.store(out + i[:, None] * 128 + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def step(s, v, start, largest, total, acc):
    d, j = tl.arange(0, 128), tl.arange(0, 64)
    m = tl.maximum(largest, tl.max(s, 1))
    p, scale = tl.exp(s - m[:, None]), tl.exp(largest - m)
    values = tl.load(v + (start + j[:, None]) * 128 + d[None, :])
    return m, total * scale + tl.sum(p, 1), tl.dot(p.to(tl.float16), values, acc * scale[:, None])


# 128 elements a thread of each of many tiles in 4 warps: known before it is assembled, which is done for 8 warps alone.
# ONCE-COUNT-1: ptxas{{$}}
# ONCE-NOT: ptxas{{$}}
@triton.jit
def rows(x, y, out, n):
    j = tl.arange(0, 16384)
    a, b = tl.load(x + j), tl.load(y + j)
    largest = tl.maximum(tl.max(a, 0), tl.max(b, 0))
    p, q = tl.exp(a - largest), tl.exp(b - largest)
    m = 0.5 * p + 0.5 * q
    tl.store(out + j, p * a + q * b - m * tl.log(m))
