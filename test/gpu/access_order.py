# DEFINE: %{compile} = nereid compile --target sm_90a --emit ptx
# RUN: %{compile} %s:reverse --signature "*fp32:16, 1024" | FileCheck %s --check-prefix REVERSE
# RUN: %{compile} %s:reverse --signature "*fp32:16, 1024" --num-warps 1 | FileCheck %s --check-prefix ONE-WARP
# RUN: %{compile} %s:scale --signature "*fp32:16, *fp32:16, i32:16, 1024" | FileCheck %s --check-prefix NONE
# RUN: %{compile} %s:scale_row --signature "*fp32:16, i32:16, i32:16, 1024" | FileCheck %s --check-prefix NONE
# RUN: %{compile} %s:move --signature "*fp32:16, i32:16, 1024" | FileCheck %s --check-prefix MOVE
# RUN: %{compile} %s:push --signature "*fp32:16, i32:16, 1024" | FileCheck %s --check-prefix PUSH
# RUN: %{compile} %s:rotate --signature "*fp32:16, i32:16, 512" | FileCheck %s --check-prefix ROTATE
# RUN: %{compile} %s:count --signature "*i32:16" | FileCheck %s --check-prefix REVERSE
# RUN: %{compile} %s:rotate_heads --signature "*fp16:16, *fp16:16, 4, 64" | FileCheck %s --check-prefix NONE
# RUN: %{compile} %s:halve --signature "*fp16:16, *fp16:16, 64" | FileCheck %s --check-prefix REVERSE
# RUN: %{compile} %s:columns --signature "*fp32:16, *fp32:16, i32, 64" | FileCheck %s --check-prefix NONE
# RUN: %{compile} %s:columns_in_steps --signature "*fp32:16, *fp32:16, i32, 12, 64" | FileCheck %s --check-prefix NONE
# RUN: %{compile} %s:columns_in_steps --signature "*fp32:16, *fp32:16, i32, 10, 64" | FileCheck %s --check-prefix STEPS
# A barrier stands where one thread reaches what another one reached before, and nowhere else (gpu/AccessOrder.h).
import triton
import triton.language as tl


# REVERSE: ld.global
# REVERSE: bar.sync 0;
# REVERSE: st.global
# REVERSE-NOT: bar.sync
# ONE-WARP: ld.global
# ONE-WARP: bar.warp.sync
# ONE-WARP: st.global
@triton.jit
def reverse(p, N: tl.constexpr):
    i = tl.arange(0, N)
    t = tl.load(p + i)
    tl.store(p + N - 1 - i, t)


# Each thread stores what it loaded, and memory of another argument is apart.
# NONE: ld.global
# NONE-NOT: bar.
# NONE: st.global
@triton.jit
def scale(p, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(p + i, tl.load(p + i, mask=i < n) * 2, mask=i < n)
    tl.store(y + n - i, tl.load(p + i, mask=i < n), mask=i < n)


# Steps reach other elements.
@triton.jit
def scale_row(p, n, stride, B: tl.constexpr):
    row = p + tl.program_id(0) * stride
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        tl.store(row + i, tl.load(row + i, mask=i < n) * 2, mask=i < n)


# All load before one stores; what a step stores no later one loads.
# MOVE: $L__BB0_[[LOOP:[0-9]+]]:
# MOVE-NOT: bar.sync
# MOVE: ld.global
# MOVE: bar.sync 0;
# MOVE: st.global
# MOVE: bra $L__BB0_[[LOOP]];
@triton.jit
def move(p, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for start in range(0, n, B):
        tl.store(p + start + i, tl.load(p + start + i + 1))


# Two in a step: what the step before stored is loaded, too.
# PUSH: $L__BB0_[[LOOP:[0-9]+]]:
# PUSH: bar.sync 0;
# PUSH: ld.global
# PUSH: bar.sync 0;
# PUSH: st.global
# PUSH: bra $L__BB0_[[LOOP]];
@triton.jit
def push(p, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for start in range(0, n, B):
        tl.store(p + start + i + 1, tl.load(p + start + i))


# One barrier for both halves, which are apart.
# ROTATE: ld.global
# ROTATE: ld.global
# ROTATE: bar.sync 0;
# ROTATE: st.global
# ROTATE-NOT: bar.sync
@triton.jit
def rotate(p, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    row = p + tl.program_id(0) * stride
    both = tl.load(row + tl.arange(0, 2 * B))
    b, a = tl.split(tl.trans(tl.reshape(both, 2, B)))
    tl.store(row + i, -b)
    tl.store(row + i + B, a)


@triton.jit
def count(p):
    tl.store(p, tl.load(p) + 1)


# Two of four warps have copies, which load what the others store, and nobody sees what they load. A step stores what no later one loads.
@triton.jit
def rotate_heads(p, angles, HEADS: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    angle = tl.load(angles + i)
    for head in range(HEADS):
        row = p + tl.program_id(0) * HEADS * 2 * B + head * 2 * B
        a, b = tl.load(row + i), tl.load(row + B + i)
        tl.store(row + i, a - b * angle)
        tl.store(row + B + i, b + a * angle)


# What the copies load is seen where it is an address.
@triton.jit
def halve(p, q, B: tl.constexpr):
    i = tl.arange(0, B)
    t = tl.load(p + i)
    u = tl.load(q + t.to(tl.int32))
    tl.store(p + i, u)


# Rows of three are apart in all columns, whichever threads have them. A program has each row in two warps.
@triton.jit
def columns(p, y, n, B: tl.constexpr):
    i = (tl.program_id(0) * B + tl.arange(0, B)) * 3
    t = tl.load(y + i, mask=i < n)
    tl.store(p + i, t, mask=i < n)
    tl.store(p + i + 1, t * 2, mask=i < n)
    tl.store(p + i + 2, t * 3, mask=i < n)


# Steps keep to their columns where they begin at multiples of three; else the second store of one reaches rows that
# the first load of a later one reads.
# STEPS: $L__BB0_[[LOOP:[0-9]+]]:
# STEPS: bar.sync 0;
# STEPS: bra $L__BB0_[[LOOP]];
@triton.jit
def columns_in_steps(p, y, n, STEP: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B) * 3
    for start in range(0, n, STEP):
        t = tl.load(p + start + i)
        tl.store(p + start + i + 1, t * 2)
