# RUN: nereid compile %s:rows --signature "*i32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:rows --signature "*i64:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=WIDE
# RUN: nereid compile %s:rows --signature "*fp32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=FLOATS
# RUN: nereid compile %s:pairs --signature "*i32:16, *i32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=PAIRS
# Between a comparator and the next one in another lane nothing is put in order: a select says what is sent, one what is kept.
import triton
import triton.language as tl


# Two selects a comparator, of words and of pairs of words. Where directions are known it is a minimum and a maximum: 6 of 21.
# CHECK-COUNT-30: selp.b32
# CHECK-NOT: selp.b32
# WIDE-COUNT-30: selp.b64
# WIDE-NOT: selp.b64
# Floats are compared both ways, as 0 equals -0 and nothing equals NaN: their order goes on to decide what it decided.
# FLOATS-COUNT-20: setp.geu.f32
# FLOATS-NOT: setp.geu.f32
@triton.jit
def rows(x_ptr):
    at = tl.arange(0, 64)
    tl.store(x_ptr + at, tl.sort(tl.load(x_ptr + at)))


# What goes along with equal keys stays where it is, so here the keys are compared both ways as well.
# PAIRS: shfl.sync.bfly
# PAIRS-DAG: setp.gt.s32
# PAIRS-DAG: setp.le.s32
@triton.jit
def pairs(x_ptr, y_ptr):
    at = tl.arange(0, 128)
    low, high = tl.split(tl.permute(tl.reshape(tl.load(x_ptr + at), [16, 2, 2, 2]), [0, 2, 3, 1]))
    k0, v0 = tl.split(low)
    k1, v1 = tl.split(high)
    swap = k0 > k1
    y = tl.join(tl.where(swap, v1, v0), tl.where(swap, v0, v1))
    tl.store(y_ptr + tl.arange(0, 64), tl.reshape(y, [64]))
