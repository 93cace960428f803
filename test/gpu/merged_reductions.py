# RUN: nereid compile %s:gradient --signature "*fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix MERGED
# RUN: nereid compile %s:gradient --signature "*fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONCE
# RUN: nereid compile %s:variance --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix APART
# RUN: nereid compile %s:variance --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix TWICE
# RUN: nereid compile %s:loads_between --signature "*fp32:16, *fp32:16, *fp32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix APART
# RUN: nereid compile %s:within_warps --signature "*fp32:16, *fp32:16, *fp32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix APART
# Reductions that warps exchange parts for are one where neither needs the other.
import triton
import triton.language as tl


# What is made of the first one goes behind both; a maximum and a sum meet as well.
# MERGED: [[BOTH:%[0-9]+]]:2 = tile.reduce(%{{.*}}, %{{.*}}) axis 0
# MERGED-NEXT: ^bb0([[A:%.*]]: f32, [[B:%.*]]: f32, [[C:%.*]]: f32, [[D:%.*]]: f32):
# MERGED-NEXT: [[SUM:%.*]] = arith.addf [[A]], [[C]]
# MERGED-NEXT: [[MAX:%.*]] = arith.max{{.*}} [[B]], [[D]]
# MERGED-NEXT: tile.yield [[SUM]], [[MAX]]
# MERGED: arith.divf [[BOTH]]#0
# MERGED-NOT: tile.reduce
# Four warps leave two parts each behind one barrier; the other one keeps the next step's off.
# ONCE: ld.global
# ONCE-COUNT-5: shfl
# ONCE: bar.sync
# ONCE-COUNT-2: st.shared
# ONCE: bar.sync
# ONCE-NOT: bar.sync
# ONCE-COUNT-2: ld.shared.v4
# ONCE-NOT: bar.sync
@triton.jit
def gradient(x, g, y, M):
    columns = tl.arange(0, 512)
    for row in range(M):
        a = tl.load(x + row * 512 + columns)
        b = tl.load(g + row * 512 + columns)
        mean = tl.sum(a * b, axis=0) / 512
        most = tl.max(b, axis=0)
        tl.store(y + row * 512 + columns, (a - mean) * most)


# The second sum is about the mean that the first one gives. In a loop each has a place of its own,
# whose barrier keeps the next step off the other's.
# APART: tile.reduce(%{{[^,]*}}) axis
# APART: tile.reduce(%{{[^,]*}}) axis
# TWICE: $L__BB
# TWICE: st.shared
# TWICE-NEXT: bar.sync
# TWICE-NEXT: ld.shared
# TWICE: st.shared
# TWICE-NEXT: bar.sync
# TWICE-NEXT: ld.shared
# TWICE-NOT: bar.sync
@triton.jit
def variance(x, y, M):
    columns = tl.arange(0, 512)
    for row in range(M):
        a = tl.load(x + row * 512 + columns)
        centred = a - tl.sum(a, axis=0) / 512
        tl.store(y + row * 512 + columns, centred / tl.sum(centred * centred, axis=0))


# The first sum does not wait for the second one's load.
@triton.jit
def loads_between(x, g, y):
    columns = tl.arange(0, 512)
    a = tl.sum(tl.load(x + columns), axis=0)
    b = tl.sum(tl.load(g + columns), axis=0)
    tl.store(y + columns, a * b)


# Lanes alone need no barrier.
@triton.jit
def within_warps(x, g, y):
    rows = tl.arange(0, 64)
    at = rows[:, None] * 16 + tl.arange(0, 16)[None, :]
    a = tl.load(x + at)
    b = tl.load(g + at)
    tl.store(y + rows, tl.sum(a, axis=1) * tl.max(b, axis=1))
