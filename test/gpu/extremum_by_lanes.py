# RUN: nereid compile %s:greatest --signature "*fp32:16, *i32:16, True" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefixes=CHECK,LEFT
# RUN: nereid compile %s:greatest --signature "*fp32:16, *i32:16, False" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefixes=CHECK,RIGHT
# RUN: nereid compile %s:own --signature "*fp32:16, *i32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=OWN
# RUN: nereid compile %s:of_total_order --signature "*fp32:16, *i32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=TOTAL
# RUN: nereid compile %s:own_of_integers --signature "*i32:16, *i32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=INTEGERS
# Where the greatest element of a row is: lanes exchange it and its place and choose without an order of lanes, as the places have one.
import triton
import triton.language as tl


# NaN is marked in its place once a thread, and compared with nothing after that: four steps of two selects, and the last without its element.
# LEFT: or.b32 {{.*}}, -2147483648
# RIGHT: selp.s32 {{.*}}, -1, 0,
# CHECK: shfl.sync.bfly
# CHECK-NOT: setp.nan
# CHECK-COUNT-11: selp
# CHECK-NOT: selp
# LEFT: and.b{{32|64}} {{.*}}, 2147483647
# CHECK: st.global
@triton.jit
def greatest(x_ptr, y_ptr, FIRST: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    tl.store(y_ptr, tl.argmax(x, 0, tie_break_left=FIRST))


@triton.jit
def better(a, at_a, b, at_b):
    first = (a > b) | (a == b) & (at_a < at_b) | (b != b)
    return tl.where(first, a, b), tl.where(first, at_a, at_b)


# Numbers that may be the same say nothing about the order: each lane puts its two in order first.
# OWN-COUNT-24: selp
@triton.jit
def own(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    _, at = tl.reduce((x, tl.load(y_ptr + tl.arange(0, 32))), 0, better)
    tl.store(y_ptr, at)


@triton.jit
def greater(a, at_a, b, at_b):
    mask = a > b
    equal = a == b
    mask |= (a != a) & (not b != b)
    equal |= (a != a) & (b != b)
    mask |= equal & (at_a < at_b)
    return tl.where(mask, a, b), tl.where(mask, at_a, at_b)


# PyTorch's compiler gives NaN and equal elements an order of their own: an element is chosen once a step, and not put in order before.
# TOTAL-COUNT-4: selp.f32
# TOTAL-NOT: selp.f32
# TOTAL: st.global
@triton.jit
def of_total_order(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    _, at = tl.reduce((x, tl.arange(0, 32)), 0, greater)
    tl.store(y_ptr, at)


@triton.jit
def better_integer(a, at_a, b, at_b):
    first = (a < b) | (a == b) & (at_a > at_b)
    return tl.where(first, a, b), tl.where(first, at_a, at_b)


# A rule of one's own that keeps the same element whichever comes first needs no order either, and no numbers that differ: two selects a step, and one where `or` has become one.
# INTEGERS-COUNT-11: selp
# INTEGERS-NOT: selp
# INTEGERS: st.global
@triton.jit
def own_of_integers(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    _, at = tl.reduce((x, tl.load(y_ptr + tl.arange(0, 32))), 0, better_integer)
    tl.store(y_ptr, at)
