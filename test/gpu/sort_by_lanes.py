# RUN: nereid compile %s:rows --signature "*fp32:16" --const N=128 --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=LANES
# RUN: nereid compile %s:rows --signature "*fp32:16" --const N=1024 --num-warps 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix=LAYOUTS
# RUN: nereid compile %s:pairs --signature "*fp32:16, *fp32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=PAIRS
# The two sides of a comparator meet in one thread: a bit of the lane changes places with one of the registers, by a shuffle of half of them.
import triton
import triton.language as tl


# Nothing goes through shared memory, what the store wants neither: that is a shuffle of each register from another lane.
# LANES-NOT: .shared
# LANES-COUNT-40: shfl.sync.bfly
# LANES-NOT: .shared
# LANES-COUNT-4: shfl.sync.idx
# LANES-NOT: .shared
# LANES: st.global

# What is far apart stays where it is while near elements are compared: registers keep bits that go from high to low.
# LAYOUTS: func @rows
# LAYOUTS-COUNT-37: tilegpu.convert_layout
# LAYOUTS-NOT: tilegpu.convert_layout
@triton.jit
def rows(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(x_ptr + at, tl.sort(tl.load(x_ptr + at)))


# Threads without registers to give away: both of a pair of lanes get both halves.
# PAIRS-NOT: st.shared
# PAIRS: shfl.sync.bfly
@triton.jit
def pairs(x_ptr, y_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    low, high = tl.split(tl.reshape(x, [8, 2]))
    tl.store(y_ptr + tl.arange(0, 8), low - high)
