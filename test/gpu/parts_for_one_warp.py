# RUN: nereid compile %s:stored --signature "*fp32:16, *fp32:16" --num-warps 8 --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:used --signature "*fp32:16, *fp32:16" --num-warps 8 --target sm_90a --emit ptx | FileCheck %s --check-prefix USED
# The parts of a combination of many instructions are combined by the warp whose copy is stored; the others go past it.
import triton
import triton.language as tl


@triton.jit
def joined(mean, spread, count, mean_2, spread_2, count_2):
    both = count + count_2
    share = tl.where(both == 0, 0.0, count_2 / both)
    far = mean_2 - mean
    return mean + far * share, spread + spread_2 + far * far * count * share, both


# CHECK: bar.sync
# CHECK: bra
# CHECK: ld.shared
# CHECK: st.global
@triton.jit
def stored(x, y):
    i = tl.arange(0, 2048)
    a = tl.load(x + i)
    mean, spread, count = tl.reduce((a, tl.zeros_like(a), tl.full([2048], 1.0, tl.float32)), 0, joined)
    tl.store(y, mean)
    tl.store(y + 1, tl.sqrt(spread / count))


# All threads want it.
# USED: bar.sync
# USED-NOT: bra
# USED: ld.shared
# USED: st.global
@triton.jit
def used(x, y):
    i = tl.arange(0, 2048)
    a = tl.load(x + i)
    mean, spread, count = tl.reduce((a, tl.zeros_like(a), tl.full([2048], 1.0, tl.float32)), 0, joined)
    tl.store(y + i, (a - mean) * tl.rsqrt(spread / count))
